/** Jobs as they are shown: sensitive values masked, the waiting reason and the completeness of the log derived. */
import type { ConfigSnapshot } from "../../protocol/configurations.ts";
import type { ExecutionMetadata, Job, JobProgress } from "../../protocol/jobs.ts";
import { hasEnded, type JobRow } from "../domain/job.ts";
import { mask } from "../domain/snapshot.ts";
import { waitingReason, type Surroundings } from "../domain/waiting-reason.ts";
import { notFound } from "../problem.ts";
import type { Queries } from "../store/db.ts";
import { findJob, findSnapshot, occupiedSpecs } from "../store/jobs.ts";
import { findLastSeq } from "../store/logs.ts";
import { findCandidates } from "../store/workers.ts";
import type { Context } from "./context.ts";

/** The job `id`, whoever's it is: its rights were judged before. */
export async function readJobView({ store }: Pick<Context, "store">, id: string): Promise<Job> {
  const job = await store.read.first(findJob, { id });
  if (!job) throw notFound("job");
  const snapshot = await store.read.first(findSnapshot, { id });
  return viewJob(store.read, { ...job, config_snapshot: snapshot?.config_snapshot ?? null });
}

/** One job with its snapshot. */
export async function viewJob(
  queries: Queries,
  job: JobRow & { config_snapshot: string | null },
  surroundings?: Surroundings,
): Promise<Job> {
  const around =
    job.status === "QUEUED"
      ? (surroundings ?? (await surroundingsOf(queries, job.owner_id)))
      : null;
  return {
    id: job.id,
    job_type: job.job_type,
    status: job.status,
    configuration_id: job.spec_id,
    spec_id: job.spec_id,
    zone_id: job.zone_id,
    cloud_identity_id: job.cloud_identity_id,
    assigned_worker_id: job.assigned_worker_id,
    worker_id: job.worker_id,
    plan_job_id: job.plan_job_id,
    labels: JSON.parse(job.labels) as string[],
    config_hash: job.config_hash,
    config_snapshot:
      job.config_snapshot === null ? null : mask(JSON.parse(job.config_snapshot) as ConfigSnapshot),
    execution_metadata:
      job.execution_metadata === null
        ? null
        : (JSON.parse(job.execution_metadata) as ExecutionMetadata),
    error_message: job.error_message,
    waiting_reason: around ? waitingReason(job, around) : null,
    attempt: job.attempt,
    timeout_seconds: job.timeout_seconds,
    log_complete: await logComplete(queries, job),
    log_pruned_at: timeOrNull(job.log_pruned_at),
    created_at: time(job.created_at),
    claimed_at: timeOrNull(job.claimed_at),
    started_at: timeOrNull(job.started_at),
    ended_at: timeOrNull(job.ended_at),
    released_at: timeOrNull(job.released_at),
  };
}

/** Where a job stands, without what never changes. */
export async function viewProgress(queries: Queries, job: JobRow): Promise<JobProgress> {
  const around = job.status === "QUEUED" ? await surroundingsOf(queries, job.owner_id) : null;
  return {
    id: job.id,
    status: job.status,
    waiting_reason: around ? waitingReason(job, around) : null,
    log_complete: await logComplete(queries, job),
    log_pruned_at: timeOrNull(job.log_pruned_at),
  };
}

/** What the waiting reasons of an owner's jobs depend on; read once for a whole list. */
export async function surroundingsOf(queries: Queries, owner: string): Promise<Surroundings> {
  const occupied = await occupiedSpecs(queries, owner);
  return { ...occupied, workers: await queries.all(findCandidates, { owner }) };
}

/** Whether every chunk that the runner counted is stored; null while it runs, if the runner does not count, or if the log is pruned. */
async function logComplete(queries: Queries, job: JobRow): Promise<boolean | null> {
  if (!hasEnded(job) || job.last_seq === null || job.log_pruned_at !== null) return null;
  if (job.last_seq === 0) return true;
  const last = await queries.first(findLastSeq, { job: job.id });
  return (last?.seq ?? 0) >= job.last_seq;
}

/** A time on the wire. */
export const time = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** A time that may not have come yet. */
export const timeOrNull = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : time(milliseconds);
