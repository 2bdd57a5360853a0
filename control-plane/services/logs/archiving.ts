/**
 * Archives the logs of finished jobs: their text moves from the database to a compressed blob, some
 * time after the job was released. A chunk that arrives later stays in the database and follows the
 * archive, until a later round writes a new archive with both.
 *
 * The blob is written first. One transaction then names it and begins to delete the chunks, and
 * readers use the archive from then on. A crash before leaves an orphaned blob, a crash after it
 * chunks that no reader looks at and that the next round deletes.
 */
import { hour, mebibyte } from "../../../common/units.ts";
import { UnreadableError } from "../../domain/secret-box.ts";
import type { Queries } from "../../store/db.ts";
import {
  deleteChunksUpTo,
  findLogArchive,
  findLogState,
  findNextWithChunks,
  saveLogArchive,
} from "../../store/logs/archives.ts";
import { findLastChunk, readChunks } from "../../store/logs/logs.ts";
import { addUnnamed } from "../../store/storage/orphaned-blobs.ts";
import type { Context } from "../context.ts";
import { storeContent } from "../storage/stored-content.ts";
import { Turns } from "../storage/turns.ts";
import {
  frameLimit,
  packArchive,
  readAllFrames,
  readFrames,
  readMarks,
  type ArchivedChunk,
  type ArchiveSummary,
  type EarlierArchive,
} from "./archive-format.ts";
import { findPage, type PageLimit } from "./pages.ts";

/** How many logs one turn looks at: a few milliseconds of reads. */
const looksPerTurn = 100;
/** What one transaction deletes: a few milliseconds of the writer. */
const deletedPerTurn: PageLimit = { chunks: 500, bytes: 2 * mebibyte };
/** A reader may have read the row of an archive that a new one replaces. */
const replacedMilliseconds = hour;

/** Ends an archive that is being written: nothing of it is kept. */
const stopped = new Error("the round was stopped");

export interface Archived {
  readonly logs: number;
  /** Logs whose earlier archive cannot be read. Their later chunks stay in the database. */
  readonly unreadable: number;
}

/**
 * One round: archives every log whose job was released, and whose last chunk arrived, at least
 * `delay` milliseconds ago. A log that cannot be archived keeps no other one waiting: the first
 * such error is thrown at the end. Ends early, between two turns or two frames of an archive, when
 * `stop` is aborted.
 */
export async function archiveLogs(
  context: Context,
  delay: number,
  stop?: AbortSignal,
): Promise<Archived> {
  const turns = new Turns(stop);
  const archived = { logs: 0, unreadable: 0 };
  const errors: unknown[] = [];
  let after = "";
  while (await turns.next()) {
    const { job, last } = await findDue(context, after, context.now() - delay);
    if (last === undefined) break;
    after = last;
    if (job === undefined) continue;
    try {
      if (await archiveLog(context, turns, job)) archived.logs += 1;
    } catch (error) {
      if (error === stopped) break;
      if (error instanceof UnreadableError) archived.unreadable += 1;
      else errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return archived;
}

/** Logs of running and recently ended jobs. Returns the first due, and the last looked at. */
async function findDue(
  { store }: Context,
  after: string,
  before: number,
): Promise<{ job?: string; last?: string }> {
  let last: string | undefined;
  for (let looks = 0; looks < looksPerTurn; looks += 1) {
    const next = await store.read.first(findNextWithChunks, { after: last ?? after });
    if (next === undefined) break;
    const job = (last = next.job_id);
    const state = await store.read.first(findLogState, { job });
    if (!isReleased(state, before)) continue;
    const newest = await store.read.first(findLastChunk, { job });
    if (newest !== undefined && newest.created_at <= before) return { job, last };
  }
  return last === undefined ? {} : { last };
}

const isReleased = (
  state: { released_at: number | null; log_pruned_at: number | null } | undefined,
  before: number,
): boolean =>
  state !== undefined &&
  state.log_pruned_at === null &&
  state.released_at !== null &&
  state.released_at <= before;

async function archiveLog(context: Context, turns: Turns, job: string): Promise<boolean> {
  const { store, now } = context;
  const row = await store.read.first(findLogArchive, { job });
  if (row !== undefined) await deleteArchived(context, turns, job, row.last_id);
  const after = row?.last_id ?? 0;
  const newest = await store.read.first(findLastChunk, { job });
  if (newest === undefined || newest.id <= after) return false;
  const earlier = row && (await openEarlier(context, row));
  const summary: ArchiveSummary = {
    marks_at: 0,
    index_at: 0,
    last_id: 0,
    last_seq: null,
    last_at: 0,
  };
  const content = packArchive(pagesOf(context, turns, job, after), earlier, summary);
  const { answer: isMore, stored } = await storeContent(context, content, Infinity, (written) =>
    store.write(async (tx) => {
      const current = await tx.first(findLogArchive, { job });
      const state = await tx.first(findLogState, { job });
      // Another server was faster, or retention has removed the log.
      if (current?.blob !== row?.blob || !isReleased(state, Infinity))
        return { answer: false, stored: false };
      const { blob, size_bytes } = written;
      await saveLogArchive(tx, { job_id: job, blob, size_bytes, ...summary });
      if (row !== undefined) await addUnnamed(tx, [row.blob], now() + replacedMilliseconds);
      return { answer: await deleteSome(tx, job, summary.last_id), stored: true };
    }),
  );
  if (isMore) await deleteArchived(context, turns, job, summary.last_id);
  return stored;
}

async function openEarlier(
  { blobs }: Context,
  row: NonNullable<EarlierArchive["row"]>,
): Promise<EarlierArchive> {
  const [frames, marks] = [await readFrames(blobs, row), await readMarks(blobs, row)];
  return { row, frames, marks, content: readAllFrames(blobs, row) };
}

/** Yields the chunks of a log after an id: a frame, and one turn between two of them. */
async function* pagesOf(
  { store }: Context,
  turns: Turns,
  job: string,
  after: number,
): AsyncGenerator<readonly ArchivedChunk[]> {
  let from = after;
  for (;;) {
    const { last, isLast } = await findPage(store.read, job, from, frameLimit);
    if (last === undefined) return;
    yield await store.read.all(readChunks, { job, after: from, last });
    if (isLast) return;
    from = last;
    if (!(await turns.next())) throw stopped;
  }
}

/** Deletes the chunks that an archive has, a few in each transaction. */
async function deleteArchived(
  { store }: Context,
  turns: Turns,
  job: string,
  last: number,
): Promise<void> {
  while (await turns.next()) if (!(await store.write((tx) => deleteSome(tx, job, last)))) return;
}

/** Deletes some chunks up to an id, oldest first. Returns whether there are more. */
async function deleteSome(tx: Queries, job: string, last: number): Promise<boolean> {
  const page = await findPage(tx, job, 0, deletedPerTurn);
  const end = Math.min(page.last ?? last, last);
  await tx.run(deleteChunksUpTo, { job, last: end });
  return end < last;
}
