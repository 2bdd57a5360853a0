/**
 * The lock of a job that has changed resources and could not save its state. Until a user stores that
 * state, or removes the lock, any other job would create those resources again.
 */
import type { JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import { addLock, findLock, releaseLock, type StateLockRow } from "../../store/states/states.ts";

const lockIdOf = (job: string): string => `unsaved-${job}`;

export const isUnsaved = ({ lock_id, job_id }: Pick<StateLockRow, "lock_id" | "job_id">): boolean =>
  lock_id === lockIdOf(job_id);

/** Locks the state, in place of the job's own lock. Another job's lock stays. */
export async function lockUnsaved(
  tx: Queries,
  { id, spec_id, job_type }: Pick<JobRow, "id" | "spec_id" | "job_type">,
  now: number,
): Promise<void> {
  if (spec_id === null) return;
  const lock = await tx.first(findLock, { spec: spec_id });
  if (lock && lock.job_id !== id) return;
  if (lock) await releaseLock(tx, id);
  // As terraform describes its own locks, and prints those of others.
  const info = JSON.stringify({
    ID: lockIdOf(id),
    Operation: `${job_type} whose state could not be saved`,
    Who: `job ${id}`,
    Created: new Date(now).toISOString(),
  });
  await addLock(tx, { spec_id, lock_id: lockIdOf(id), job_id: id, info, created_at: now });
}
