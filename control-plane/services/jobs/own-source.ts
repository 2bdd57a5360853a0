/**
 * The source of a PLAN that is not its configuration's (`source` of the request). A PLAN changes
 * nothing: the configuration takes the source over when a DEPLOY of that plan starts.
 */
import type { Source } from "../../../protocol/configurations.ts";
import type { CreateJob } from "../../../protocol/jobs.ts";
import type { JobRow } from "../../domain/job.ts";
import { invalid, RefusalError } from "../../domain/refusal.ts";
import { checkPermission, permissionForJob } from "../../domain/roles.ts";
import type { StoredSnapshot } from "../../domain/snapshot-values.ts";
import { setSpecSource } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findOwnJob, findSnapshot } from "../../store/jobs/jobs.ts";
import { record, system } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import { isKept } from "../configurations/archives.ts";

/** Returns the source of a job that has another one than its configuration. */
export async function findOwnSource(tx: Queries, id: string): Promise<Source | undefined> {
  const stored = await tx.first(findSnapshot, { id });
  const { own_source, source } = JSON.parse(stored?.config_snapshot ?? "{}") as StoredSnapshot;
  return own_source ? source : undefined;
}

/** Throws 403 unless the caller may cancel or retry a job. */
export async function checkJobPermission(
  tx: Queries,
  user: UserCaller,
  { id, job_type }: JobRow,
): Promise<void> {
  const hasOwnSource = job_type === "PLAN" && (await findOwnSource(tx, id)) !== undefined;
  checkPermission(user, permissionForJob(job_type, hasOwnSource));
}

/**
 * Returns the source that a request names, itself or by the plan that it deploys; undefined: the
 * configuration's.
 */
export async function requestedSource(
  tx: Queries,
  owner: string,
  { job_type, source, plan_job_id }: CreateJob,
): Promise<Source | undefined> {
  if (source !== undefined) {
    if (job_type !== "PLAN") throw invalid("body.source", "goes with a PLAN only");
    if (!(await isKept(tx, owner, source)))
      throw invalid(
        "body.source.sha256",
        "is not the SHA-256 of one of your archives: upload the archive first",
      );
    return source;
  }
  if (!plan_job_id || !(await tx.first(findOwnJob, { id: plan_job_id, owner }))) return undefined;
  const planned = await findOwnSource(tx, plan_job_id);
  if (planned && !(await isKept(tx, owner, planned)))
    throw new RefusalError(
      "invalid_plan",
      "the uploaded files of the PLAN are so old that they were removed: plan again",
    );
  return planned;
}

/** Replaces the configuration's source when a DEPLOY of such a plan starts. */
export async function takeOverSource(tx: Queries, job: JobRow, now: number): Promise<void> {
  const { spec_id: id, owner_id: owner, job_type, plan_job_id } = job;
  if (job_type !== "DEPLOY" || plan_job_id === null || id === null) return;
  const source = await findOwnSource(tx, job.id);
  if (!source) return;
  const name = await setSpecSource(tx, id, source, now);
  const details = { fields: ["source"], job_id: job.id };
  const what = { action: "configuration.update", id, name: name ?? null, details } as const;
  await record(tx, { by: system, owner, ...what }, now);
}
