/** Why a queued job is not running yet. Derived for each response, never stored. Pure. */
import type { Feature } from "../../protocol/features.ts";
import type { WaitingReason } from "../../protocol/jobs.ts";
import type { JobRow } from "./job.ts";
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
  Pick<WorkerRow, "offline_at" | "draining_at" | "last_heartbeat_at">;

/** What else decides whether a job can be claimed. */
export interface Surroundings {
  /** A job of the same configuration is not released. */
  readonly isBusy: boolean;
  /** The state of its configuration is locked. */
  readonly isLocked: boolean;
  /** The worker that it tears down holds a job. */
  readonly isTargetHeld: boolean;
  readonly workers: readonly Candidate[];
}

/** The facts that decide the reason. */
export type WaitingJob = Pick<
  JobRow,
  "owner_id" | "status" | "job_type" | "spec_id" | "assigned_worker_id" | "labels" | "features"
>;

/**
 * The first thing that would have to change for the job to be claimed; null unless it is QUEUED.
 */
export function waitingReason(
  job: WaitingJob,
  { isBusy, isLocked, isTargetHeld, workers }: Surroundings,
): WaitingReason | null {
  if (job.status !== "QUEUED") return null;
  if (isBusy) return "configuration_busy";
  if (isLocked) return "state_locked";
  const isTeardown = job.job_type === "DESTROY_WORKER";
  if (isTeardown && isTargetHeld) return "worker_in_use";
  const claimable = withLists(job);
  const meant = workers.filter((worker) => isMeantFor(worker, claimable));
  if (meant.length === 0) return "no_matching_worker";
  const able = meant.filter((worker) => mayTake(worker, claimable));
  if (able.length === 0) return `needs_${rarest(claimable, meant)}`;
  const statuses = new Set(able.map(workerStatus));
  if (statuses.has("ONLINE")) return "waiting_for_worker";
  const isDraining = statuses.has("DRAINING");
  if (isTeardown || job.assigned_worker_id === null)
    return isDraining ? "workers_draining" : "no_worker_online";
  return isDraining ? "assigned_worker_draining" : "assigned_worker_offline";
}

/** Of the features that the job needs, the one that the fewest workers support. */
function rarest({ features }: Claimable, workers: readonly Candidate[]): Feature {
  const able = (feature: string) =>
    workers.filter((worker) => worker.features.includes(feature)).length;
  return features.toSorted((a, b) => able(a) - able(b))[0] as Feature;
}
