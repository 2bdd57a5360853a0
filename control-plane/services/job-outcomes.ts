/** What the audit log says of how a job ended, whoever decided it. */
import { endUnreadable, isHeld, type JobRow } from "../domain/job.ts";
import type { Queries } from "../store/db.ts";
import { findJob } from "../store/jobs.ts";
import { record, system, type Actor } from "./audit.ts";
import { changeJob, type Rings } from "./job-changes.ts";

export interface Outcome {
  readonly by: Actor;
  readonly action: "job.end" | "job.lose" | "job.release";
  readonly before: JobRow;
  readonly after: JobRow;
}

/** Records the outcome if it changed anything: the status, or that the job is held. A repeated report is no second end. */
export async function recordOutcome(
  tx: Queries,
  { by, action, before, after }: Outcome,
  now: number,
): Promise<void> {
  if (before.status === after.status && isHeld(before) === isHeld(after)) return;
  const { id, job_type: name, owner_id: owner, status } = after;
  const { worker_id, attempt } = before;
  const details = { status, status_before: before.status, worker_id, attempt };
  await record(tx, { by, owner, action, id, name, details }, now);
}

/** Ends a job that was just claimed and that cannot be opened. */
export async function failUnreadable(
  tx: Queries,
  rings: Rings,
  id: string,
  now: number,
): Promise<void> {
  const before = await tx.first(findJob, { id });
  if (!before) throw new Error("the job just claimed is not there");
  const after = await changeJob(tx, rings, before, endUnreadable(before, now), now);
  await recordOutcome(tx, { by: system, action: "job.end", before, after }, now);
}
