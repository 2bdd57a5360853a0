/** What the audit log says of how a job ended, whoever decided it. */
import { isHeld, type JobRow } from "../domain/job.ts";
import type { Queries } from "../store/db.ts";
import { record, type Actor } from "./audit.ts";

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
