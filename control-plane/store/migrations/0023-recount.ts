/**
 * Earlier releases counted the instances of a resource as one. The contents of states are not in
 * the database, so the server counts them again while it runs (services/states/recount.ts).
 */
import { sql, type Kysely } from "kysely";

/** Notes that there are states to count. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`insert into facts (name, value)
    select 'states_to_recount', '' where exists (select 1 from state_versions)`.execute(db);
}
