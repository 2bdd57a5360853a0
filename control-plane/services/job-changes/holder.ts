import { fence, start, type JobRow } from "../../domain/job.ts";
import { notFound } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import type { WorkerCaller } from "../callers.ts";
import { changeJob, type AfterCommit } from "./changes.ts";

/** Also a job that they held last. Throws 404 or 409. */
export async function findFenced(
  queries: Queries,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
): Promise<JobRow> {
  return fenced(await queries.first(findJob, { id }), worker, attempt);
}

/** Checks a row that is already read. */
export function fenced<J extends Pick<JobRow, "owner_id" | "worker_id" | "attempt">>(
  job: J | undefined,
  worker: WorkerCaller,
  attempt: number | undefined,
): J {
  // For this worker, jobs of other owners do not exist.
  if (!job || (worker.owner_id !== null && job.owner_id !== worker.owner_id)) throw notFound("job");
  fence(job, worker.id, attempt);
  return job;
}

/** Records the first sign that the job runs, if this is the first. Returns the job after that. */
export const startJob = (
  tx: Queries,
  afterCommit: AfterCommit,
  job: JobRow,
  now: number,
): Promise<JobRow> => changeJob(tx, afterCommit, job, start(job, now), now);
