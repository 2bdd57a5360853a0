/**
 * Applies a job's state change with everything that follows from it, in one transaction: the spec's
 * status, the outputs of a deployment, the end of a state lock. Wakeups are sent after the commit.
 */
import { isHeld, hasEnded, type JobRow } from "../../domain/job.ts";
import { statusAtEnd, statusAtStart } from "../../domain/spec.ts";
import { withLists } from "../../domain/worker.ts";
import type { Queries } from "../../store/db.ts";
import {
  findLaterStarted,
  findNextOfSpec,
  findQueuedTeardowns,
  saveJob,
} from "../../store/jobs/jobs.ts";
import { findSpecStatus, setSpecStatus } from "../../store/configurations/configurations.ts";
import { releaseLock } from "../../store/states/states.ts";
import type { QueuedHint, Wakeups } from "../../wakeups/wakeups.ts";
import type { Context } from "../context.ts";
import { clearDeployment, finalizeDeployment } from "./finalize-deployment.ts";
import { takeOverSource } from "./own-source.ts";

/** Wakeups to send after the commit. */
export type Rings = ((wakeups: Wakeups) => void)[];

/** Runs a transaction that changes jobs, then sends the wakeups that it collected. */
export async function writeJobs<T>(
  { store, wakeups }: Pick<Context, "store" | "wakeups">,
  change: (tx: Queries, rings: Rings) => Promise<T>,
): Promise<T> {
  let rings: Rings = [];
  const result = await store.write((tx) => {
    rings = [];
    return change(tx, rings);
  });
  for (const ring of rings) ring(wakeups);
  return result;
}

export interface ChangeOptions {
  /**
   * A job that was lost, or whose runner cannot tell what it did, may have written its state only
   * in part, so its lock stays.
   */
  readonly keepLock?: boolean;
}

/** Saves `after` and everything that follows from the difference. Returns the saved job. */
export async function changeJob(
  tx: Queries,
  rings: Rings,
  before: JobRow,
  after: JobRow,
  now: number,
  { keepLock = false }: ChangeOptions = {},
): Promise<JobRow> {
  if (after === before) return before;
  let job = after;
  if (
    job.spec_id !== null &&
    before.started_at === null &&
    job.started_at !== null &&
    !hasEnded(before)
  )
    job = await startSpec(tx, job, now);
  if (endDiffers(before, job)) await endSpec(tx, job, now);
  await saveJob(tx, job);
  rings.push((wakeups) => wakeups.ring("job", job.id));
  if (hasEnded(job) && !hasEnded(before)) rings.push((wakeups) => wakeups.ring("ended", job));
  const isReleased = isHeld(before) && !isHeld(job);
  if (job.released_at !== null && !keepLock && job.spec_id !== null) {
    const isUnlocked = await releaseLock(tx, job.id);
    if (isUnlocked || isReleased) await ringNextOfSpec(tx, rings, job.spec_id);
  } else if (isReleased && job.spec_id !== null) await ringNextOfSpec(tx, rings, job.spec_id);
  if (isReleased && before.worker_id !== null)
    for (const waiting of await tx.all(findQueuedTeardowns, { worker: before.worker_id }))
      rings.push((wakeups) => wakeups.ring("queue", hintOf(waiting)));
  if (job.status === "QUEUED") rings.push((wakeups) => wakeups.ring("queue", hintOf(job)));
  const holder = job.worker_id;
  if (job.status === "CANCELLED" && holder !== null)
    rings.push((wakeups) => wakeups.ring("worker", holder));
  return job;
}

/** When a spec becomes free, its next job may be claimed. */
export async function ringNextOfSpec(tx: Queries, rings: Rings, spec: string): Promise<void> {
  const next = await tx.first(findNextOfSpec, { spec });
  if (next) rings.push((wakeups) => wakeups.ring("queue", hintOf(next)));
}

/** What decides which waiting worker may claim a queued job. */
export const hintOf = (
  job: Pick<JobRow, "owner_id" | "assigned_worker_id" | "job_type" | "labels" | "features">,
): QueuedHint => {
  const { owner_id, assigned_worker_id, job_type, labels, features } = withLists(job);
  return { owner_id, assigned_worker_id, job_type, labels, features };
};

/**
 * The fields of a spec that show a job's end. A late report may bring another reason, or outputs,
 * with the same status.
 */
const endDiffers = (before: JobRow, job: JobRow): boolean =>
  job.status !== before.status ||
  (job.status !== "CANCELLED" &&
    (job.error_message !== before.error_message ||
      job.execution_metadata !== before.execution_metadata));

async function startSpec(tx: Queries, job: JobRow, now: number): Promise<JobRow> {
  const status = statusAtStart(job.job_type);
  if (status === null || job.spec_id === null) return job;
  const spec = await tx.first(findSpecStatus, { id: job.spec_id });
  await tx.run(setSpecStatus, { id: job.spec_id, status, error_message: null, now });
  await takeOverSource(tx, job, now);
  return { ...job, spec_status_before: spec?.status ?? null };
}

async function endSpec(tx: Queries, job: JobRow, now: number): Promise<void> {
  const { spec_id: spec, job_type: type, status, id } = job;
  if (spec === null || type === "DESTROY_WORKER" || !hasEnded(job)) return;
  const next = statusAtEnd(type, status, job.spec_status_before);
  if (
    next === null ||
    (await tx.first(findLaterStarted, { spec, id, claimed_at: job.claimed_at ?? 0 }))
  )
    return;
  await tx.run(setSpecStatus, {
    id: spec,
    status: next,
    error_message: status === "FAILED" ? job.error_message : null,
    now,
  });
  if (status !== "SUCCESS") return;
  if (type === "DEPLOY") await finalizeDeployment(tx, spec, job.execution_metadata);
  if (type === "DESTROY") await clearDeployment(tx, spec);
}
