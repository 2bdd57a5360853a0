/** How many outputs of a configuration are not kept. */
import { sql, type Kysely } from "kysely";

/** Adds the column. Older versions recorded none. */
export const up = (db: Kysely<unknown>): Promise<void> => add(db);

/** The same for PostgreSQL. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => add(db);

export const isAdditive = true;

async function add(db: Kysely<unknown>): Promise<void> {
  await sql`alter table specs add column outputs_omitted integer not null default 0`.execute(db);
}
