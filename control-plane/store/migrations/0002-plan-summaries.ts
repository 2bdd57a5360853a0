/** What plans would do, summed up: kept with the job when the plan itself is gone. */
import { sql, type Kysely } from "kysely";

/** Adds the table of plan summaries. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table plan_summaries (
    job_id text primary key references jobs(id) on delete cascade, plan_summary text not null)`.execute(
    db,
  );
}
