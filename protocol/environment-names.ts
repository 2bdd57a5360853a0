/** Environment variables that a job may not set: the server refuses them, the agent drops them. */

/**
 * It would override the runner's arguments (`TF_CLI_ARGS`, `TF_HTTP_*`) or credentials (`AWS_*`),
 * or load code (`LD_*`, `BASH_ENV`, `NODE_OPTIONS`). Ignores case.
 */
export const isForbiddenEnvironmentName = (name: string): boolean => forbidden.test(name);

const forbidden =
  /^(TF_(CLI_ARGS.*|CLI_CONFIG_FILE|DATA_DIR|WORKSPACE|LOG.*|REATTACH_PROVIDERS|PLUGIN_CACHE.*|HTTP_.*|ENCRYPTION)|AWS_.*|GIT_.*|LD_.*|BASH_ENV|ENV|NODE_OPTIONS|PATH|HOME|WINDLASS_ENTRY_\d+)$/i;

/** Whether a value with this name is sensitive by default. */
export const isSecretEnvironmentName = (name: string): boolean =>
  /(TOKEN|SECRET|PASSWORD|KEY|CREDENTIALS)$/i.test(name);
