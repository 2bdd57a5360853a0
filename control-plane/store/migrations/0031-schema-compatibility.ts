/** The store says which older servers can use it, so that servers can be upgraded one by one. */
import { sql, type Kysely } from "kysely";

/** Adds the column, which `migrate` fills. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table schema_version add column compatible_since integer`.execute(db);
}

export const upPostgres = up;

export const isAdditive = true;
