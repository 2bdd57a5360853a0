/** What a plan changes in each resource: apart from its summary, which lists read. */
import { sql, type Kysely } from "kysely";

/** Adds the table. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table plan_attributes (
    job_id text primary key references jobs(id) on delete cascade, attributes text not null)`.execute(
    db,
  );
}
