/**
 * What messages and log lines said so far as fields: that a runner was lost, that an outcome is
 * unknown, when a step began and ended.
 */
import { sql, type Kysely } from "kysely";

/** Adds the columns, and finds what the messages of ended jobs say. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `alter table jobs add column presumed_lost_at bigint`,
  `alter table jobs add column outcome_unknown integer not null default 0`,
  `update jobs set presumed_lost_at = ended_at, outcome_unknown = 1
    where status = 'FAILED' and error_message = 'runner lost, outcome unknown'`,
  `update jobs set outcome_unknown = 1
    where status = 'FAILED' and error_message like 'outcome unknown: the server was restored from a backup of %'`,
  // A cancelled job that was released and still has its lock lost its runner, or its runner could
  // not say what it did.
  `update jobs set outcome_unknown = 1
    where status = 'CANCELLED' and released_at is not null and id in (select job_id from state_locks)`,
  `alter table log_chunks add column step text`,
  `drop index log_chunks_system`,
  `create index log_chunks_step on log_chunks (job_id, id) where step is not null`,
];
