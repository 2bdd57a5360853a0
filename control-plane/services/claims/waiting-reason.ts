import type { Job } from "../../../protocol/jobs.ts";
import type { JobRow } from "../../domain/job.ts";
import {
  behindReason,
  waitingOf,
  type Candidate,
  type WaitingJob,
} from "../../domain/waiting-reason.ts";
import { mayTake, withLists, workerStatus } from "../../domain/worker.ts";
import { countAhead } from "../../store/claims/ahead.ts";
import type { Queries } from "../../store/db.ts";
import { findObstacles } from "../../store/jobs/jobs.ts";
import {
  findCandidates as findCandidateRows,
  findReadyWorker,
} from "../../store/workers/workers.ts";
import { findApprovalReason } from "../approvals/views.ts";
import type { Context } from "../context.ts";
import { isUnsaved } from "../states/unsaved.ts";
import { liftedIds } from "./lifted-ids.ts";

type Queued = WaitingJob & Pick<JobRow, "id" | "unapproved" | "queue_class" | "created_at">;
type Viewed = Pick<Job, "waiting_reason" | "waiting_details">;
const notWaiting = { waiting_reason: null, waiting_details: null, is_behind: false };

export async function viewWaiting(
  context: Pick<Context, "now" | "periods">,
  queries: Queries,
  job: Queued,
): Promise<Viewed> {
  const { is_behind: _, ...viewed } = await findWaiting(context, queries, job);
  return viewed;
}

/**
 * With `workers`, a list need not read them for each of its jobs. `is_behind`: it only waits for jobs
 * of classes that go first.
 */
export async function findWaiting(
  context: Pick<Context, "now" | "periods">,
  queries: Queries,
  job: Queued,
  workers?: readonly Candidate[],
): Promise<Viewed & { readonly is_behind: boolean }> {
  if (job.status !== "QUEUED") return notWaiting;
  const approval = await findApprovalReason(queries, job);
  if (approval !== null) return { ...notWaiting, waiting_reason: approval };
  const { spec_id: spec, assigned_worker_id: target } = job;
  const found = await queries.first(findObstacles, { spec, target });
  const lock =
    found && found.lock_id !== null && found.lock_job !== null
      ? { lock_id: found.lock_id, job_id: found.lock_job }
      : null;
  const known = workers ?? (await findDeciding(queries, job));
  const waiting = waitingOf(job, {
    busyJob: found?.busy_job ?? null,
    isLocked: lock !== null,
    unsavedJob: lock && isUnsaved(lock) ? lock.job_id : null,
    isTargetHeld: found?.is_target_held === 1,
    workers: known,
  });
  const behind =
    waiting?.reason === "waiting_for_worker"
      ? await findBehind(context, queries, job, known)
      : null;
  if (behind !== null) return { ...notWaiting, waiting_reason: behind, is_behind: true };
  const { reason = null, details = null } = waiting ?? {};
  return { ...notWaiting, waiting_reason: reason, waiting_details: details };
}

/** Null unless jobs of classes that go first could be claimed by a worker that could claim this one. */
async function findBehind(
  context: Pick<Context, "now" | "periods">,
  queries: Queries,
  { id, owner_id: owner, queue_class, created_at, ...job }: Queued,
  workers: readonly Candidate[],
): Promise<string | null> {
  if (queue_class === 0 || id < liftedIds(context)) return null;
  const claimable = withLists({ owner_id: owner, ...job });
  const worker = workers.find((one) => workerStatus(one) === "ONLINE" && mayTake(one, claimable));
  if (!worker) return null;
  const [labels, features] = [JSON.stringify(worker.labels), JSON.stringify(worker.features)];
  const counts = await queries.all(countAhead, { owner, labels, features, queue_class });
  return behindReason(counts, created_at + context.periods.lift);
}

/** The workers that decide why a job waits: one if it could take the job, or else all. */
async function findDeciding(queries: Queries, job: WaitingJob): Promise<Candidate[]> {
  const { owner_id: owner, labels, features, assigned_worker_id: target } = job;
  const ready =
    target === null ? await queries.first(findReadyWorker, { owner, labels, features }) : undefined;
  return ready ? [withLists(ready)] : findCandidates(queries, owner);
}

export async function findCandidates(queries: Queries, owner: string): Promise<Candidate[]> {
  const rows = await queries.all(findCandidateRows, { owner });
  return rows.map(withLists);
}
