/** The claim's answer, written as text: the snapshot is JSON already, and may be a megabyte. */
import type { ConfigSnapshot } from "../../protocol/configurations.ts";
import { jobToken } from "../auth/job-tokens.ts";
import { claimed, unseal } from "../domain/snapshot.ts";
import type { ClaimRow } from "../store/claim.ts";
import type { Context } from "./context.ts";

/** What the runner that holds the job gets (protocol: ClaimedJob), sensitive values opened. */
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
    job_token: jobToken(context, job.id, job.attempt),
    assigned_worker_id: job.assigned_worker_id,
    ...(isTeardown
      ? { targets: (JSON.parse(stored) as { targets?: string[] }).targets ?? [] }
      : {}),
  });
  const snapshot = stored.includes('"sensitive":') ? open(context, job.id, stored) : stored;
  return `{"job":${fields.slice(0, -1)},"config_snapshot":${snapshot}},"cloud_identity":${job.cloud_identity ?? "null"}}`;
}

const open = (context: Context, id: string, stored: string): string =>
  JSON.stringify(
    claimed(unseal(JSON.parse(stored) as ConfigSnapshot, context.box("variables"), id)),
  );
