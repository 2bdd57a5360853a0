/**
 * The content of an archived log: frames of compressed chunks, then the starts and ends of steps
 * and resources, then the index of the frames. So a reader of one page reads and unpacks one frame,
 * and nothing is in memory as a whole when the archive is written.
 */
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { kibibyte, mebibyte } from "../../../common/units.ts";
import type { Blobs } from "../../blobs/blobs.ts";
import type { LogArchiveRow } from "../../store/logs/archives.ts";
import type { LogRow } from "../../store/logs/logs.ts";
import type { PageLimit } from "./pages.ts";

export type ArchivedChunk = Omit<LogRow, "job_id">;

export interface Frame {
  readonly lastId: number;
  /** The highest sequence number up to its end; 0 if there is none. */
  readonly lastSeq: number;
  /** Where it ends in the content. It begins where the one before it ends. */
  readonly end: number;
}

/** The first starts and ends of steps and of changes of resources, in order. */
export interface Marks {
  readonly steps: { id: number; step: string; created_at: number }[];
  readonly resources: { id: number; resource: string; created_at: number }[];
}

/** How many starts and ends of steps, and of resources, a page shows and an archive has. */
export const markLimits = { steps: 400, resources: 4000 } as const;

/** What one frame has. */
export const frameLimit: PageLimit = { chunks: 1000, bytes: 256 * kibibyte };

/** Frames are far smaller; JSON may take 6 bytes a character. 256 MiB of log: 100 KiB of index. */
const unpackedLimit = 64 * mebibyte;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const pack = (value: unknown): Promise<Buffer> => compress(Buffer.from(JSON.stringify(value)));
const unpack = async (bytes: Buffer): Promise<unknown> =>
  JSON.parse((await decompress(bytes, { maxOutputLength: unpackedLimit })).toString());

/** What the row of an archive says beside its blob. */
export type ArchiveSummary = Pick<
  LogArchiveRow,
  "marks_at" | "index_at" | "last_id" | "last_seq" | "last_at"
>;

/** An archive that a new one continues: its frames are copied unchanged. */
export interface EarlierArchive {
  readonly row: LogArchiveRow;
  readonly frames: readonly Frame[];
  readonly marks: Marks;
  readonly content: AsyncIterable<Uint8Array>;
}

/** One frame for each page of chunks. `summary` is complete afterwards. */
export async function* packArchive(
  pages: AsyncIterable<readonly ArchivedChunk[]>,
  earlier: EarlierArchive | undefined,
  summary: { -readonly [K in keyof ArchiveSummary]: ArchiveSummary[K] },
): AsyncGenerator<Uint8Array> {
  const frames: Frame[] = [...(earlier?.frames ?? [])];
  const marks: Marks = earlier?.marks ?? { steps: [], resources: [] };
  let end = frames.at(-1)?.end ?? 0;
  let { last_id, last_seq, last_at } = earlier?.row ?? { last_id: 0, last_seq: null, last_at: 0 };
  if (earlier) yield* earlier.content;
  for await (const page of pages) {
    for (const { id, seq, step, resource, created_at } of page) {
      if (step !== null && marks.steps.length < markLimits.steps)
        marks.steps.push({ id, step, created_at });
      if (resource !== null && marks.resources.length < markLimits.resources)
        marks.resources.push({ id, resource, created_at });
      [last_id, last_seq, last_at] = [id, seq ?? last_seq, created_at];
    }
    const frame = await pack(page.map(rowOf));
    end += frame.length;
    frames.push({ lastId: last_id, lastSeq: last_seq ?? 0, end });
    yield frame;
  }
  const packedMarks = await pack(marks);
  yield packedMarks;
  yield await pack(frames.map(({ lastId, lastSeq, end: at }) => [lastId, lastSeq, at]));
  Object.assign(summary, {
    marks_at: end,
    index_at: end + packedMarks.length,
    last_id,
    last_seq,
    last_at,
  });
}

type ChunkRow = readonly [
  id: number,
  seq: number | null,
  stream_type: ArchivedChunk["stream_type"],
  log_chunk: string,
  step: string | null,
  resource: string | null,
  created_at: number,
];

const rowOf = (chunk: ArchivedChunk): ChunkRow => [
  chunk.id,
  chunk.seq,
  chunk.stream_type,
  chunk.log_chunk,
  chunk.step,
  chunk.resource,
  chunk.created_at,
];

export async function readFrames(blobs: Blobs, row: LogArchiveRow): Promise<Frame[]> {
  const index = await unpack(await bytesOf(blobs, row, row.index_at, row.size_bytes));
  return (index as [number, number, number][]).map(([lastId, lastSeq, end]) => ({
    lastId,
    lastSeq,
    end,
  }));
}

export const readMarks = async (blobs: Blobs, row: LogArchiveRow): Promise<Marks> =>
  (await unpack(await bytesOf(blobs, row, row.marks_at, row.index_at))) as Marks;

export async function readFrame(
  blobs: Blobs,
  row: LogArchiveRow,
  frames: readonly Frame[],
  index: number,
): Promise<ArchivedChunk[]> {
  const [start, end] = [frames[index - 1]?.end ?? 0, frames[index]?.end ?? 0];
  const rows = (await unpack(await bytesOf(blobs, row, start, end))) as ChunkRow[];
  return rows.map(([id, seq, stream_type, log_chunk, step, resource, created_at]) => ({
    id,
    seq,
    stream_type,
    log_chunk,
    step,
    resource,
    created_at,
  }));
}

/** Opens the frames of an archive, to be copied. */
export const readAllFrames = async function* (
  blobs: Blobs,
  { blob, marks_at }: LogArchiveRow,
): AsyncGenerator<Uint8Array> {
  yield* (await blobs.read(blob, { start: 0, end: marks_at - 1 })) as AsyncIterable<Uint8Array>;
};

const bytesOf = async (
  blobs: Blobs,
  { blob }: LogArchiveRow,
  start: number,
  end: number,
): Promise<Buffer> => buffer(await blobs.read(blob, { start, end: end - 1 }));
