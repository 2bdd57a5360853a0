import type { Worker } from "../../../protocol/workers.ts";
import { workerStatus, type WorkerRow } from "../../domain/worker.ts";
import type { Queries } from "../../store/db.ts";
import { findHeldJobIds } from "../../store/jobs/jobs.ts";
import { time, timeOrNull } from "../../domain/moments.ts";
import { shownMetadata } from "./deploy-configurations.ts";

/** Returns a worker as `viewer` may see it, with the jobs that it holds if it is the viewer's. */
export async function viewWithJobs(
  queries: Queries,
  worker: WorkerRow,
  viewer: string,
): Promise<Worker> {
  const view = viewWorker(worker, viewer);
  if (worker.owner_id !== viewer) return view;
  const held = await queries.all(findHeldJobIds, { worker: worker.id });
  return { ...view, held_job_ids: held.map(({ id }) => id) };
}

/** People see of a cloud-hosted worker its name, status and version only. */
export function viewWorker(worker: WorkerRow, viewer: string | null): Worker {
  const isWhole = worker.owner_id === viewer;
  return {
    id: worker.id,
    name: worker.name,
    mode: worker.mode,
    status: workerStatus(worker),
    version: worker.version,
    ...(isWhole ? detailsOf(worker) : noDetails),
    created_at: time(worker.created_at),
  };
}

const detailsOf = (worker: WorkerRow) => ({
  labels: JSON.parse(worker.labels) as string[],
  features: JSON.parse(worker.features) as string[],
  hostname: worker.hostname,
  os: worker.os,
  arch: worker.arch,
  capacity: worker.capacity,
  isolation: worker.isolation,
  active_job_ids: JSON.parse(worker.active_job_ids ?? "[]") as string[],
  last_heartbeat: timeOrNull(worker.last_heartbeat_at),
  ...(worker.ephemeral === 1 ? { ephemeral: true } : {}),
  metadata: shownMetadata(worker),
});

const noDetails: ReturnType<typeof detailsOf> = {
  labels: [],
  features: [],
  hostname: null,
  os: null,
  arch: null,
  capacity: null,
  isolation: null,
  active_job_ids: [],
  last_heartbeat: null,
  metadata: {},
};
