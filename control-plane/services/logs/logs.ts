/** Reads a job's log. The caller has checked who may read it. */
import type { LogChunk, LogResource, LogStep } from "../../../protocol/jobs.ts";
import type { UserCaller, WorkerCaller } from "../callers.ts";
import { notFound } from "../../domain/refusal.ts";
import { findJob, findJobBriefly, findOwnJob } from "../../store/jobs/jobs.ts";
import { readChunks, sizeChunks } from "../../store/logs/logs.ts";
import type { Context } from "../context.ts";
import { time, timeOrNull } from "../jobs/views.ts";
import { kibibyte } from "../../../common/units.ts";

/** Bytes of text on a page, unless its only chunk has more. */
const pageBytes = 256 * kibibyte;
/** Chunks on a page. */
const pageChunks = 200;

/** A part of a log. */
export interface LogPart {
  readonly logs: LogChunk[];
  /** Whether this is the end of the log. */
  readonly isLast: boolean;
}

/**
 * Returns the log after a chunk's id, in the order of the ids: at least one chunk, then as many as
 * fit on a page.
 */
export async function readLog(
  { store }: Context,
  job: string,
  after: number,
  { chunks = pageChunks, bytes = pageBytes } = {},
): Promise<LogPart> {
  // One more, to find out whether this page is the last one.
  const limit = Math.min(chunks, pageChunks);
  const sizes = await store.read.all(sizeChunks, { job, after, limit: limit + 1 });
  let total = 0;
  let last = 0;
  for (; last < Math.min(limit, sizes.length); last += 1) {
    total += sizes[last]?.bytes ?? 0;
    if (total > bytes && last > 0) break;
  }
  const lastId = sizes[last - 1]?.id;
  if (lastId === undefined) return { logs: [], isLast: true };
  const rows = await store.read.all(readChunks, { job, after, last: lastId });
  const logs = rows.map(({ step, resource, created_at, ...row }) => ({
    ...row,
    ...(step === null ? {} : { step: JSON.parse(step) as LogStep }),
    ...(resource === null ? {} : { resource: JSON.parse(resource) as LogResource }),
    created_at: time(created_at),
  }));
  return { logs, isLast: last === sizes.length };
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
