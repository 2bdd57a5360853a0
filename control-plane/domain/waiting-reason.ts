/** Why a queued job is not running yet: derived whenever it is asked for, never stored. Pure. */
import type { WaitingReason } from "../../protocol/jobs.ts";
import type { JobRow } from "./job.ts";
import { mayTake, workerStatus, type WorkerRow } from "./worker.ts";

/** What else is going on for the job's owner. */
export interface Surroundings {
  /** Specs occupied by a job that is not released. */
  readonly busy: ReadonlySet<string>;
  /** Specs whose state is locked. */
  readonly locked: ReadonlySet<string>;
  /** Workers that hold a job. */
  readonly heldBy: ReadonlySet<string>;
  readonly workers: readonly Pick<
    WorkerRow,
    "id" | "owner_id" | "labels" | "offline_at" | "draining_at" | "last_heartbeat_at"
  >[];
}

/** The first thing that would have to change for the job to be claimed; null unless it is QUEUED. */
export function waitingReason(
  job: JobRow,
  { busy, locked, heldBy, workers }: Surroundings,
): WaitingReason | null {
  if (job.status !== "QUEUED") return null;
  if (job.spec_id !== null && busy.has(job.spec_id)) return "configuration_busy";
  if (job.spec_id !== null && locked.has(job.spec_id)) return "state_locked";
  const isTeardown = job.job_type === "DESTROY_WORKER";
  if (isTeardown && job.assigned_worker_id !== null && heldBy.has(job.assigned_worker_id))
    return "worker_in_use";
  const claimable = { ...job, labels: JSON.parse(job.labels) as string[] };
  const able = workers.filter((worker) =>
    mayTake({ ...worker, labels: JSON.parse(worker.labels) as string[] }, claimable),
  );
  if (able.length === 0) return "no_matching_worker";
  const statuses = able.map(workerStatus);
  if (statuses.includes("ONLINE") || statuses.includes("REGISTERED")) return "waiting_for_worker";
  if (isTeardown || job.assigned_worker_id === null) return "no_worker_online";
  return statuses[0] === "DRAINING" ? "assigned_worker_draining" : "assigned_worker_offline";
}
