/**
 * What every end of a job asks is answered without reading the queue or the history of its
 * configuration.
 */
import { sql, type Kysely } from "kysely";

/** Adds the indexes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // Whom the release of a configuration lets go on.
  `create index jobs_queued_spec on jobs (spec_id, id) where status = 'QUEUED' and spec_id is not null`,
  // The teardowns that wait for a worker.
  `create index jobs_queued_assigned on jobs (assigned_worker_id) where status = 'QUEUED' and assigned_worker_id is not null`,
  // Whether a later job has changed the configuration's infrastructure meanwhile.
  `create index jobs_spec_started on jobs (spec_id, claimed_at) where started_at is not null and job_type <> 'PLAN'`,
];
