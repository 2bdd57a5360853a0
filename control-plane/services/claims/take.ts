/** The claim's answer, written as text: the snapshot is JSON already, and may be a megabyte. */
import type { ConfigSnapshot } from "../../../protocol/configurations.ts";
import { jobToken } from "../states/job-tokens.ts";
import { hasDebug } from "../../domain/job.ts";
import { claimed, unseal } from "../../domain/snapshot.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import type { Context } from "../context.ts";

/** What the runner that holds the job gets (protocol: ClaimedJob), of a job whose sensitive values are opened. */
export function claimedJob(context: Context, job: ClaimRow): string {
  const stored = job.config_snapshot ?? "{}";
  const isTeardown = job.job_type === "DESTROY_WORKER";
  const fields = JSON.stringify({
    id: job.id,
    job_type: job.job_type,
    spec_id: job.spec_id,
    zone_id: job.zone_id,
    plan_job_id: job.plan_job_id,
    attempt: job.attempt,
    timeout_seconds: job.timeout_seconds,
    ...(hasDebug(job) ? { debug: true } : {}),
    job_token: jobToken(context, job.id, job.attempt),
    assigned_worker_id: job.assigned_worker_id,
    deployed_backend: job.deployed_backend,
    ...(isTeardown
      ? { targets: (JSON.parse(stored) as { targets?: string[] }).targets ?? [] }
      : {}),
  });
  return `{"job":${fields.slice(0, -1)},"config_snapshot":${stored}},"cloud_identity":${job.cloud_identity ?? "null"}}`;
}

/** The job with its sensitive values in clear. Throws if they were sealed with a key that this server does not have. */
export function opened<J extends Pick<ClaimRow, "id" | "config_snapshot">>(
  context: Pick<Context, "box">,
  job: J,
): J {
  const { id, config_snapshot: stored } = job;
  if (!stored?.includes('"sensitive":')) return job;
  const plain = unseal(JSON.parse(stored) as ConfigSnapshot, context.box("variables"), id);
  return { ...job, config_snapshot: JSON.stringify(claimed(plain)) };
}
