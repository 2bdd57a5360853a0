/** A PLAN may destroy everything, and the DEPLOY of such a plan leaves nothing deployed. */
import { sql, type Kysely } from "kysely";

/** Adds the column. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table jobs add column destroys integer not null default 0`.execute(db);
}
