/** How terraform reaches the managed state. */
import type { JobContext } from "../context.ts";

/** Environment for terraform's `http` backend. It is the one place where the job token goes; plans and `.terraform` do not keep it. */
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
    // With terraform's default of 2, a restart of the control plane during the last upload loses the
    // state (docs/decisions.md, "State retries").
    TF_HTTP_RETRY_MAX: "8",
  };
}
