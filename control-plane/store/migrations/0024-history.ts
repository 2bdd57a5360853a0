/** The history of jobs: who created each, and what filters and strips of runs read. */
import { sql, type Kysely } from "kysely";

/** Adds the column, and finds in the audit log who created the jobs so far. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `alter table jobs add column created_by text`,
  `update jobs set created_by = (
    select actor_name from audit_entries indexed by audit_entries_target
    where audit_entries.owner_id = jobs.owner_id and target_id = jobs.id and action in ('job.create', 'job.retry'))`,
  `create index jobs_created_by on jobs (owner_id, created_by, id) where created_by is not null`,
  `create index jobs_type on jobs (owner_id, job_type, id)`,
  // The counts of a plan without the rest of its summary, which may have a megabyte.
  `create index plan_summaries_counts on plan_summaries (job_id, json_extract(plan_summary, '$.counts'))`,
];
