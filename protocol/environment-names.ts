/** Environment names that a job may not set, known to both ends: the server refuses them, the agent drops them. */

/**
 * They would change what terraform is told by its runner (`TF_CLI_ARGS`, `TF_HTTP_*`), whose credentials it uses (`AWS_*`), or what
 * code is loaded before any of ours (`LD_*`, `BASH_ENV`, `NODE_OPTIONS`). Compared without regard to case.
 */
export const isForbiddenEnvironmentName = (name: string): boolean => forbidden.test(name);

const forbidden =
  /^(TF_(CLI_ARGS.*|CLI_CONFIG_FILE|DATA_DIR|WORKSPACE|LOG.*|REATTACH_PROVIDERS|PLUGIN_CACHE.*|HTTP_.*|ENCRYPTION)|AWS_.*|GIT_.*|LD_.*|BASH_ENV|ENV|NODE_OPTIONS|PATH|HOME)$/i;

/** Whether a value under this name is a secret unless a person says otherwise. */
export const isSecretEnvironmentName = (name: string): boolean =>
  /(TOKEN|SECRET|PASSWORD|KEY|CREDENTIALS)$/i.test(name);
