/** The size of an output's value that was too large to be kept. */
import { sql, type Kysely } from "kysely";

/** Adds the column. Null: the value is there or sensitive, or an older version has stored the row. */
export const up = (db: Kysely<unknown>): Promise<void> => add(db, "integer");

/** The same for PostgreSQL. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => add(db, "bigint");

export const isAdditive = true;

async function add(db: Kysely<unknown>, type: string): Promise<void> {
  await sql.raw(`alter table components add column omitted_bytes ${type}`).execute(db);
}
