/**
 * How many resources a state records may be unknown: earlier releases counted none in a state that
 * OpenTofu had encrypted. The server counts those with none again while it runs; until then they are
 * unknown, and servers of the release before leave the new column null.
 */
import { sql, type Kysely } from "kysely";

/** Adds the column. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table state_versions add column resource_count integer`.execute(db);
  await sql`update state_versions set resource_count = resources where resources > 0`.execute(db);
  await sql`insert into facts (name, value)
    select 'states_to_recount', '' where exists (select 1 from state_versions)
    on conflict (name) do update set value = ''`.execute(db);
}

/** The same there. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => up(db);

export const isAdditive = true;
