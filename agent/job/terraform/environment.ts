/** The environment of a job's commands: built from nothing, never inherited. */
import { isForbiddenEnvironmentName } from "../../../protocol/environment-names.ts";
import type { JobContext } from "../context.ts";
import { kindOf } from "../credentials/cloud-identity.ts";
import { loopback } from "../credentials/endpoint-address.ts";

export interface EnvironmentParts {
  /** From the configuration, so untrusted. */
  readonly own: Readonly<Record<string, unknown>>;
  /** Address and credentials of the managed state. */
  readonly state: Readonly<Record<string, string>>;
  /** The address and password of the endpoint for cloud credentials. */
  readonly cloud: Readonly<Record<string, string>>;
}

/** Later entries win, so a configuration can replace nothing that the agent sets. */
export function environmentOf(
  context: Pick<JobContext, "claim" | "isolation" | "settings" | "workspace">,
  { own, state, cloud }: EnvironmentParts,
): Record<string, string> {
  const { isolation, settings, workspace } = context;
  const outside = { ...settings.network, ...allowed(own) };
  return {
    ...outside,
    ...withoutProxy(outside),
    PATH: settings.path,
    LANG: "C.UTF-8",
    HOME: workspace.home,
    TMPDIR: isolation.temporary(),
    TF_IN_AUTOMATION: "1",
    TF_INPUT: "0",
    CHECKPOINT_DISABLE: "1",
    TF_CLI_CONFIG_FILE: workspace.cliConfig,
    ...state,
    // A job without credentials of its own must not use this machine's identity either.
    AWS_EC2_METADATA_DISABLED: "true",
    ...(kindOf(context) === "machine" ? {} : { GCE_METADATA_HOST: "metadata.invalid" }),
    ...cloud,
  };
}

/**
 * The address of the credentials is reached directly. Go's programs always do so; others, such as
 * `gcloud`, would give the password of the job to the proxy.
 */
function withoutProxy(environment: Readonly<Record<string, string>>): Record<string, string> {
  if (!Object.keys(environment).some((name) => /^(https?|all)_proxy$/i.test(name))) return {};
  const set = ["NO_PROXY", "no_proxy"].filter((name) => environment[name]);
  const names = set.length > 0 ? set : ["NO_PROXY"];
  return Object.fromEntries(
    names.map((name) => {
      const hosts = environment[name];
      // Many programs know a `*` only if it stands alone.
      return [name, hosts === "*" ? hosts : [hosts, loopback].filter(Boolean).join(",")];
    }),
  );
}

/** For the `http` backend. The job token is only here, not in plans or `.terraform`. */
export function stateEnvironment(context: JobContext): Record<string, string> {
  const { job } = context.claim;
  if (context.facts.backend !== "managed" || !job.spec_id || !job.job_token) return {};
  const address = context.api.stateAddress(job.spec_id);
  return {
    TF_HTTP_ADDRESS: address,
    TF_HTTP_LOCK_ADDRESS: address,
    TF_HTTP_UNLOCK_ADDRESS: address,
    TF_HTTP_LOCK_METHOD: "LOCK",
    TF_HTTP_UNLOCK_METHOD: "UNLOCK",
    TF_HTTP_USERNAME: job.id,
    TF_HTTP_PASSWORD: job.job_token,
    // Waits of 1, 2, 4, 8 and then 10 seconds, five minutes in total. With terraform's defaults, 2
    // retries, a restart of the control plane during the last upload loses the state
    // (docs/decisions.md, "State retries").
    TF_HTTP_RETRY_MAX: "33",
    TF_HTTP_RETRY_WAIT_MAX: "10",
  };
}

/** Drops forbidden and impossible names, and values that are not text or contain a NUL. */
const allowed = (own: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(own).filter(isAllowed));

function isAllowed(entry: [string, unknown]): entry is [string, string] {
  const [name, value] = entry;
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || isForbiddenEnvironmentName(name)) return false;
  return typeof value === "string" && !value.includes("\0");
}
