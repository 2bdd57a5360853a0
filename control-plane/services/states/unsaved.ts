/**
 * The locks of ended jobs that may have changed resources that no state records. Until a user stores
 * that state, or removes the lock, any other job would create those resources again.
 */
import type { JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import { addLock, findLock, releaseLock, type StateLockRow } from "../../store/states/states.ts";
import { time } from "../../domain/moments.ts";

const lockIdOf = (job: string): string => `unsaved-${job}`;

export const isUnsaved = ({ lock_id, job_id }: Pick<StateLockRow, "lock_id" | "job_id">): boolean =>
  lock_id === lockIdOf(job_id);

type Locking = Pick<JobRow, "id" | "spec_id" | "job_type">;

/** Replaces the job's own lock. Another job's lock stays. */
export async function lockUnsaved(tx: Queries, job: Locking, now: number): Promise<void> {
  const { id, spec_id: spec } = job;
  if (spec === null) return;
  const lock = await tx.first(findLock, { spec });
  if (lock && lock.job_id !== id) return;
  if (lock) await releaseLock(tx, id);
  await lockAs(tx, job, spec, lockIdOf(id), "whose state could not be saved", now);
}

/** Terraform may have removed its lock (second interrupt) or had it in another backend. */
export async function lockUnknown(tx: Queries, job: Locking, now: number): Promise<void> {
  const { id, spec_id: spec } = job;
  if (spec === null || (await tx.first(findLock, { spec }))) return;
  await lockAs(tx, job, spec, `unknown-${id}`, "whose outcome is unknown", now);
}

async function lockAs(
  tx: Queries,
  { id, job_type }: Locking,
  spec_id: string,
  lock_id: string,
  why: string,
  now: number,
): Promise<void> {
  // As terraform describes its own locks, and prints those of others.
  const info = JSON.stringify({
    ID: lock_id,
    Operation: `${job_type} ${why}`,
    Who: `job ${id}`,
    Created: time(now),
  });
  await addLock(tx, { spec_id, lock_id, job_id: id, info, created_at: now });
}
