/**
 * SQL of archived logs. Their text is in blobs.
 *
 * Chunks are deleted only after the archive that has them was committed. A reader that reads the
 * chunks first and then the archive misses nothing.
 */
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";
import { findLastChunk, findLastSeq } from "./logs.ts";

export type LogArchiveRow = Row<"log_archives">;

export const findLogArchive = statement<{ job: string }, LogArchiveRow>((db, { job }) =>
  db.selectFrom("log_archives").selectAll().where("job_id", "=", job),
);

/** Stores the archive of a log in place of an earlier one. */
export async function saveLogArchive({ sql: db }: Queries, row: LogArchiveRow): Promise<void> {
  const { job_id: _, ...rest } = row;
  await db
    .insertInto("log_archives")
    .values(row)
    .onConflict((conflict) => conflict.column("job_id").doUpdateSet(rest))
    .execute();
}

/** Removes the archives of these jobs; returns their blobs. */
export const deleteLogArchives = (
  { sql: db }: Queries,
  jobs: readonly string[],
): Promise<{ blob: string }[]> =>
  db.deleteFrom("log_archives").where("job_id", "in", jobs).returning("blob").execute();

/** The next job, in the order of the ids, of which there are chunks. */
export const findNextWithChunks = statement<{ after: string }, { job_id: string }>(
  (db, { after }) =>
    db
      .selectFrom("log_chunks")
      .select("job_id")
      .where("job_id", ">", after)
      .orderBy("job_id")
      .limit(1),
);

/** When a job was released, and when its log was pruned. */
export const findLogState = statement<
  { job: string },
  { released_at: number | null; log_pruned_at: number | null }
>((db, { job }) =>
  db.selectFrom("jobs").select(["released_at", "log_pruned_at"]).where("id", "=", job),
);

export const deleteChunksUpTo = statement<{ job: string; last: number }>((db, { job, last }) =>
  db.deleteFrom("log_chunks").where("job_id", "=", job).where("id", "<=", last),
);

/** Returns the id of the newest chunk of a log; 0 if it has none. */
export async function findLastId(queries: Queries, job: string): Promise<number> {
  const last = await queries.first(findLastChunk, { job });
  return last?.id ?? (await queries.first(findLogArchive, { job }))?.last_id ?? 0;
}

/** Returns the highest sequence number of a log; 0 if no chunk is numbered. */
export async function findHighestSeq(queries: Queries, job: string): Promise<number> {
  const last = await queries.first(findLastSeq, { job });
  return last?.seq ?? (await queries.first(findLogArchive, { job }))?.last_seq ?? 0;
}
