/** Reading a job's log. Who may read it was judged before. */
import type { LogChunk } from "../../protocol/jobs.ts";
import type { UserCaller, WorkerCaller } from "../auth/callers.ts";
import { notFound } from "../problem.ts";
import { findJob, findJobBriefly, findOwnJob } from "../store/jobs.ts";
import { readChunks } from "../store/logs.ts";
import type { Context } from "./context.ts";
import { time, timeOrNull } from "./job-views.ts";

/** A page of the log after a chunk's id, in the order of the ids. */
export async function readLog(
  { store }: Context,
  job: string,
  after: number,
  limit: number,
): Promise<LogChunk[]> {
  const rows = await store.read.all(readChunks, { job, after, limit });
  return rows.map((row) => ({ ...row, created_at: time(row.created_at) }));
}

/** When retention removed the log, so that readers can say so; null while it is kept. */
export async function findPrunedAt({ store }: Context, id: string): Promise<string | null> {
  const job = await store.read.first(findJobBriefly, { id });
  return timeOrNull(job?.log_pruned_at ?? null);
}

/** A person reads the logs of their own jobs. */
export async function checkOwnJob(
  { store }: Context,
  { user_id: owner }: UserCaller,
  id: string,
): Promise<void> {
  if (!(await store.read.first(findOwnJob, { id, owner }))) throw notFound("job");
}

/** A worker reads the log of a job that it holds or held last. */
export async function checkHeldJob(
  { store }: Context,
  worker: WorkerCaller,
  id: string,
): Promise<void> {
  const job = await store.read.first(findJob, { id });
  if (job?.worker_id !== worker.id) throw notFound("job");
}
