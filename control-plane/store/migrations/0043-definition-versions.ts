/** A counter of changes, so that what was opened outside of a transaction is known to be current. */
import { sql, type Kysely } from "kysely";

/** Adds the columns. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["specs", "variable_sets"])
    await sql.raw(`alter table ${table} add column version bigint not null default 0`).execute(db);
}

/** The same there. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => up(db);

export const isAdditive = true;
