/** Why a queued job is not running yet. Derived for each response, never stored. Pure. */
import type { Feature } from "../../protocol/features.ts";
import {
  waitingWorkersShown,
  type WaitingDetails,
  type WaitingReason,
} from "../../protocol/waiting.ts";
import type { JobRow } from "./job.ts";
import { time } from "./moments.ts";
import {
  isMeantFor,
  mayTake,
  withLists,
  workerStatus,
  type Claimable,
  type Claimant,
  type WorkerRow,
} from "./worker.ts";

/** A worker that may be able to run a job. */
export type Candidate = Claimant &
  Pick<WorkerRow, "name" | "offline_at" | "draining_at" | "last_heartbeat_at">;

export interface Surroundings {
  /** The job of the same configuration that is not released. */
  readonly busyJob: string | null;
  /** The state of its configuration is locked. */
  readonly isLocked: boolean;
  /** The job that holds that lock because it could not save its state. */
  readonly unsavedJob: string | null;
  /** The worker that it tears down holds a job. */
  readonly isTargetHeld: boolean;
  readonly workers: readonly Candidate[];
}

export type WaitingJob = Pick<
  JobRow,
  "owner_id" | "status" | "job_type" | "spec_id" | "assigned_worker_id" | "labels" | "features"
>;

export interface Waiting {
  readonly reason: WaitingReason;
  readonly details: WaitingDetails | null;
}

/** Null unless the job is QUEUED. */
export function waitingOf(
  job: WaitingJob,
  { busyJob, isLocked, unsavedJob, isTargetHeld, workers }: Surroundings,
): Waiting | null {
  if (job.status !== "QUEUED") return null;
  if (busyJob !== null) return about("configuration_busy", [], { job_id: busyJob });
  if (unsavedJob !== null) return about("state_locked", [], { job_id: unsavedJob });
  if (isLocked) return { reason: "state_locked", details: null };
  const isTeardown = job.job_type === "DESTROY_WORKER";
  const [target = [], others = workers] = isTeardown ? split(workers, job.assigned_worker_id) : [];
  if (isTeardown && isTargetHeld) return about("worker_in_use", target);
  const claimable = withLists(job);
  const meant = workers.filter((worker) => isMeantFor(worker, claimable));
  if (meant.length === 0)
    return about("no_matching_worker", target, { labels: missing(claimable, others) });
  const able = meant.filter((worker) => mayTake(worker, claimable));
  // What the agent of a worker supports is known once its runner has started.
  const started = meant.filter(({ last_heartbeat_at: at }) => at !== null);
  if (able.length === 0 && started.length > 0)
    return about(`needs_${rarest(claimable, started)}`, started);
  const possible = able.length === 0 ? meant : able;
  const withStatus = Map.groupBy(possible, workerStatus);
  if (withStatus.has("ONLINE")) return { reason: "waiting_for_worker", details: null };
  const draining = withStatus.get("DRAINING");
  if (isTeardown || job.assigned_worker_id === null)
    return draining ? about("workers_draining", draining) : about("no_worker_online", possible);
  return draining
    ? about("assigned_worker_draining", draining)
    : about("assigned_worker_offline", possible);
}

/** How many jobs are counted at most of each class, of one kind that a worker can claim. */
export const aheadCounted = 100;

/** How many jobs of a class go first. */
export interface Ahead {
  readonly queue_class: number;
  readonly count: number;
}

/** Null unless there are some. `until`: when the job is served like the first class. */
export function behindReason(counts: readonly Ahead[], until: number): string | null {
  const of = (one: number): number =>
    counts.find(({ queue_class }) => queue_class === one)?.count ?? 0;
  const [people, connections] = [of(0), of(1)];
  const parts = [
    ...(people > 0 ? [`${jobsText(people)} that people queued`] : []),
    ...(connections > 0 ? [`${jobsText(connections)} that connections queued`] : []),
  ];
  if (parts.length === 0) return null;
  const like =
    people === 0
      ? "goes before them"
      : connections === 0
        ? "is served like them"
        : "is served like those of people";
  return `waits behind ${parts.join(" and ")}; at ${time(until).slice(11, 16)} UTC it ${like}`;
}

const jobsText = (count: number): string =>
  count >= aheadCounted
    ? `at least ${aheadCounted} jobs`
    : `${count} ${count === 1 ? "job" : "jobs"}`;

/** Separates the worker with this id from the others. */
function split(workers: readonly Candidate[], one: string | null): [Candidate[], Candidate[]] {
  const isIt = ({ id }: Candidate): boolean => id === one;
  return [workers.filter(isIt), workers.filter((worker) => !isIt(worker))];
}

const about = (
  reason: WaitingReason,
  workers: readonly Candidate[],
  more: Partial<WaitingDetails> = {},
): Waiting => ({
  reason,
  details: {
    labels: [],
    workers: workers
      .toSorted((a, b) => compare(a.name, b.name) || compare(a.id, b.id))
      .slice(0, waitingWorkersShown)
      .map(({ id, name }) => ({ id, name })),
    more_workers: workers.length > waitingWorkersShown,
    job_id: null,
    ...more,
  },
});

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);

/** The labels of the job that no worker has, or all if there is a worker for each. */
function missing({ labels }: Claimable, workers: readonly Candidate[]): string[] {
  const lacking = labels.filter(
    (label) => !workers.some((worker) => worker.labels.includes(label)),
  );
  return lacking.length === 0 ? [...labels] : lacking;
}

/** The feature that the job needs and the fewest workers support. */
function rarest({ features }: Claimable, workers: readonly Candidate[]): Feature {
  const able = (feature: string) =>
    workers.filter((worker) => worker.features.includes(feature)).length;
  return features.toSorted((a, b) => able(a) - able(b))[0] as Feature;
}
