/** The store says which older servers can use it, so that servers can be upgraded one by one. */
import { sql, type Kysely } from "kysely";

/** Adds the column, which `migrate` fills. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table schema_version add column compatible_since integer`.execute(db);
}

/** The same there. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => up(db);

export const isAdditive = true;
