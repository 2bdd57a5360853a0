/** Reads archived logs: each call reads the index and the frames that it needs, and no more. */
import type { LogArchiveRow } from "../../store/logs/archives.ts";
import { findLogArchive } from "../../store/logs/archives.ts";
import type { Context } from "../context.ts";
import {
  frameLimit,
  markLimits,
  readFrame,
  readFrames,
  readMarks,
  type ArchivedChunk,
  type Marks,
} from "./archive-format.ts";
import { countFitting, type PageLimit } from "./pages.ts";

type Readable = Pick<Context, "store" | "blobs">;

/**
 * Returns chunks after an id, at least one: those of a frame that fit, and whether they are the
 * last ones of the archive. `after` is before its last chunk.
 */
export async function readArchived(
  { blobs }: Readable,
  archive: LogArchiveRow,
  after: number,
  limit: PageLimit,
): Promise<{ chunks: ArchivedChunk[]; isLast: boolean }> {
  const frames = await readFrames(blobs, archive);
  const index = frames.findIndex(({ lastId }) => lastId > after);
  const rest = (await readFrame(blobs, archive, frames, index)).filter(({ id }) => id > after);
  const sizes = rest.map(({ log_chunk }) => ({ bytes: Buffer.byteLength(log_chunk) }));
  const count = countFitting(sizes, limit);
  const isLast = count === rest.length && index === frames.length - 1;
  return { chunks: rest.slice(0, count), isLast };
}

/** So that a stream of an unreadable archive is refused instead of begun and broken repeatedly. */
export async function checkArchived(context: Readable, job: string, after: number): Promise<void> {
  const archive = await context.store.read.first(findLogArchive, { job });
  if (archive !== undefined && after < archive.last_id)
    await readArchived(context, archive, after, frameLimit);
}

export async function* archivedFromEnd(
  { blobs }: Readable,
  archive: LogArchiveRow,
): AsyncGenerator<ArchivedChunk> {
  const frames = await readFrames(blobs, archive);
  for (let index = frames.length - 1; index >= 0; index -= 1)
    yield* (await readFrame(blobs, archive, frames, index)).toReversed();
}

export async function findArchivedId(
  { store, blobs }: Readable,
  job: string,
  seq: number,
): Promise<number | undefined> {
  const archive = await store.read.first(findLogArchive, { job });
  if (archive === undefined) return undefined;
  const frames = await readFrames(blobs, archive);
  const index = frames.findIndex(({ lastSeq }) => lastSeq >= seq);
  if (index === -1) return undefined;
  const chunks = await readFrame(blobs, archive, frames, index);
  return chunks.find((chunk) => chunk.seq === seq)?.id;
}

/** `stored` must be read first, so that nothing archived meanwhile is missed. */
export async function withArchived<K extends keyof Marks>(
  { store, blobs }: Readable,
  job: string,
  kind: K,
  stored: Marks[K],
): Promise<Marks[K]> {
  const archive = await store.read.first(findLogArchive, { job });
  if (archive === undefined) return stored;
  const marks = await readMarks(blobs, archive);
  const later = stored.filter(({ id }) => id > archive.last_id);
  return [...marks[kind], ...later].slice(0, markLimits[kind]) as Marks[K];
}
