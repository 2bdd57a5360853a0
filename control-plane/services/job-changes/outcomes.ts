/** Records in the audit log how a job ended, whichever part of the server decided it. */
import { endUnstarted, isHeld, lose, type JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import { findJob, findSomeHeldJobs } from "../../store/jobs/jobs.ts";
import { record, system, type Actor } from "../audit/audit.ts";
import { changeJob, type AfterCommit } from "./changes.ts";

export interface Outcome {
  readonly by: Actor;
  readonly action: "job.end" | "job.lose" | "job.release";
  readonly before: JobRow;
  readonly after: JobRow;
}

/** Records a change of the status or the hold; a repeated report changes neither. */
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

/** Ends a job that was just claimed and that no worker can run. */
export async function failUnstarted(
  tx: Queries,
  afterCommit: AfterCommit,
  { id, reason }: { readonly id: string; readonly reason: string },
  now: number,
): Promise<void> {
  const before = await tx.first(findJob, { id });
  if (!before) throw new Error("the job just claimed is not there");
  const after = await changeJob(tx, afterCommit, before, endUnstarted(before, reason, now), now);
  await recordOutcome(tx, { by: system, action: "job.end", before, after }, now);
}

/** How many jobs one transaction decides: a few milliseconds of the writer. */
const jobsPerTurn = 50;

/** Of a lost or removed worker. Returns true if there may be more. */
export async function loseSomeJobs(
  tx: Queries,
  afterCommit: AfterCommit,
  worker: string,
  by: Actor,
  now: number,
): Promise<boolean> {
  const jobs = await tx.all(findSomeHeldJobs, { worker, limit: jobsPerTurn });
  for (const job of jobs) await loseJob(tx, afterCommit, job, by, now);
  return jobs.length === jobsPerTurn;
}

export async function loseJob(
  tx: Queries,
  afterCommit: AfterCommit,
  before: JobRow,
  by: Actor,
  now: number,
): Promise<void> {
  const keepLock = before.started_at !== null;
  const after = await changeJob(tx, afterCommit, before, lose(before, now), now, { keepLock });
  await recordOutcome(tx, { by, action: "job.lose", before, after }, now);
}
