/**
 * Makes claims cheaper on PostgreSQL, which plans a function in SQL anew for each statement that
 * calls it, unless it can write it into the statement. SQLite needs none of it.
 */
import { sql, type Kysely } from "kysely";

/** Nothing. */
export async function up(): Promise<void> {}

/** Replaces the two functions, and the index by which a claim locks what it takes. */
export async function upPostgres(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // PL/pgSQL keeps its plans.
  `create or replace function queue_head_is_free(spec text, target text) returns integer language plpgsql stable as $$
    begin
      return cast(
        not exists (select 1 from jobs
          where jobs.spec_id = spec and jobs.worker_id is not null and jobs.released_at is null)
        and not exists (select 1 from state_locks where state_locks.spec_id = spec)
        and not exists (select 1 from jobs
          where jobs.worker_id = target and jobs.worker_id is not null and jobs.released_at is null)
        as integer);
    end $$`,
  // Not strict any more, so that it becomes part of the statement.
  `create or replace function json_values(document text) returns table (value text)
    language sql immutable parallel safe rows 3
    begin atomic select element from json_array_elements_text(document::json) as element; end`,
  // A hash has no order: otherwise the planner looks for the oldest job of one kind by the age of
  // all jobs.
  `drop index queue_heads_job`,
  `create index queue_heads_job on queue_heads using hash (job_id)`,
];

/** What it replaces does the same as before. */
export const isAdditive = true;
