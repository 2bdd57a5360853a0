/** Workers as they are shown. */
import type { Worker } from "../../protocol/workers.ts";
import { workerStatus, type WorkerRow } from "../domain/worker.ts";
import { time, timeOrNull } from "./job-views.ts";

/** A cloud-hosted worker belongs to nobody: users see its name, status and version only. */
export function viewWorker(worker: WorkerRow, viewer: string | null): Worker {
  const isWhole = worker.owner_id === viewer;
  return {
    id: worker.id,
    name: worker.name,
    mode: worker.mode,
    status: workerStatus(worker),
    version: worker.version,
    labels: JSON.parse(worker.labels) as string[],
    hostname: isWhole ? worker.hostname : null,
    os: worker.os,
    arch: worker.arch,
    capacity: worker.capacity,
    isolation: worker.isolation,
    active_job_ids: isWhole ? (JSON.parse(worker.active_job_ids ?? "[]") as string[]) : [],
    last_heartbeat: timeOrNull(worker.last_heartbeat_at),
    created_at: time(worker.created_at),
    metadata: isWhole ? (JSON.parse(worker.metadata) as Record<string, unknown>) : {},
  };
}
