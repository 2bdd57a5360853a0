/** Reads a job's log. The caller has checked who may read it. */
import type { LogChunk, LogResource, LogStep } from "../../../protocol/jobs.ts";
import type { UserCaller, WorkerCaller } from "../callers.ts";
import { notFound } from "../../domain/refusal.ts";
import { findJob, findJobBriefly, findOwnJob } from "../../store/jobs/jobs.ts";
import { findLogArchive } from "../../store/logs/archives.ts";
import { findLastChunk, readChunks } from "../../store/logs/logs.ts";
import type { Context } from "../context.ts";
import { time, timeOrNull } from "../../domain/moments.ts";
import { kibibyte } from "../../../common/units.ts";
import type { ArchivedChunk } from "./archive-format.ts";
import { readArchived } from "./archives.ts";
import { findPage, type PageLimit } from "./pages.ts";

/** Bytes of text on a page, unless its only chunk has more. */
const pageBytes = 256 * kibibyte;
/** Chunks on a page. */
const pageChunks = 200;

export interface LogPart {
  readonly logs: LogChunk[];
  /** Whether this is the end of the log. */
  readonly isLast: boolean;
}

/** In the order of the ids: at least one chunk, then as many as fit on a page. */
export async function readLog(
  context: Context,
  job: string,
  after: number,
  { chunks = pageChunks, bytes = pageBytes } = {},
): Promise<LogPart> {
  const limit = { chunks: Math.min(chunks, pageChunks), bytes };
  const part = await readPart(context, job, after, limit);
  return { logs: part.chunks.map((chunk) => viewChunk(job, chunk)), isLast: part.isLast };
}

interface Part {
  readonly chunks: readonly ArchivedChunk[];
  readonly isLast: boolean;
}

/** Reads the database first: archiving deletes chunks after the commit of their archive. */
async function readPart(
  context: Context,
  job: string,
  after: number,
  limit: PageLimit,
): Promise<Part> {
  const { read } = context.store;
  const stored = await readStored(context, job, after, limit);
  const archive = await read.first(findLogArchive, { job });
  if (archive === undefined || after >= archive.last_id) return stored;
  const archived = await readArchived(context, archive, after, limit);
  if (!archived.isLast) return archived;
  const later = stored.isLast
    ? (stored.chunks.at(-1)?.id ?? 0)
    : ((await read.first(findLastChunk, { job }))?.id ?? 0);
  return { chunks: archived.chunks, isLast: later <= archive.last_id };
}

async function readStored(
  { store }: Context,
  job: string,
  after: number,
  limit: PageLimit,
): Promise<Part> {
  const { last, isLast } = await findPage(store.read, job, after, limit);
  if (last === undefined) return { chunks: [], isLast };
  return { chunks: await store.read.all(readChunks, { job, after, last }), isLast };
}

const viewChunk = (job: string, chunk: ArchivedChunk): LogChunk => ({
  id: chunk.id,
  job_id: job,
  log_chunk: chunk.log_chunk,
  stream_type: chunk.stream_type,
  ...(chunk.step === null ? {} : { step: JSON.parse(chunk.step) as LogStep }),
  ...(chunk.resource === null ? {} : { resource: JSON.parse(chunk.resource) as LogResource }),
  created_at: time(chunk.created_at),
});

/** When retention removed the log, so that readers can say so; null while it is kept. */
export async function findPrunedAt({ store }: Context, id: string): Promise<string | null> {
  const job = await store.read.first(findJobBriefly, { id });
  return timeOrNull(job?.log_pruned_at ?? null);
}

/** A person reads the logs of their own jobs. */
export async function checkOwnJob(
  { store }: Context,
  { space_id: owner }: UserCaller,
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
