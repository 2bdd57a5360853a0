/** Noted in the transaction that removes the row and deleted later, so a crash loses none. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import { blobTables } from "./blob-tables.ts";

/** A blob that is noted already keeps its time. */
export async function addUnnamed(
  { sql: db }: Queries,
  blobs: readonly string[],
  delete_at: number,
): Promise<void> {
  if (blobs.length === 0) return;
  await db
    .insertInto("unnamed_blobs")
    .values(blobs.map((blob) => ({ blob, delete_at })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export const findDue = statement<{ now: number; limit: number }, { blob: string }>(
  (db, { now, limit }) =>
    db
      .selectFrom("unnamed_blobs")
      .select("blob")
      .where("delete_at", "<=", now)
      .orderBy("delete_at")
      .limit(limit),
);

/** Removes notes of blobs that were deleted, or that a row names again. */
export async function removeUnnamed({ sql: db }: Queries, blobs: readonly string[]): Promise<void> {
  await db.deleteFrom("unnamed_blobs").where("blob", "in", blobs).execute();
}

/** Which of these blobs no row names. `names` is a JSON array. */
export const findUnnamed = statement<{ names: string }, { blob: string }>((db, { names }) => {
  const query = sql`select value as blob from json_each(${names}) where
    ${sql.join(
      blobTables.map(
        (table) =>
          sql`not exists (select 1 from ${sql.table(table)} where ${sql.ref(`${table}.blob`)} = value)`,
      ),
      sql` and `,
    )}`;
  return { compile: () => query.compile(db) };
});

/** Which of these blobs are not noted yet. `names` is a JSON array. */
export const findUnnoted = statement<{ names: string }, { blob: string }>((db, { names }) => {
  const query = sql`select value as blob from json_each(${names}) where
    not exists (select 1 from unnamed_blobs where unnamed_blobs.blob = value)`;
  return { compile: () => query.compile(db) };
});
