/**
 * Makes what a claim does to the queue cheaper on PostgreSQL: it took more of the database's time
 * than the claim itself. SQLite needs none of it.
 */
import { sql, type Kysely } from "kysely";
import { queuedRule } from "./0033-approvals.ts";
import { isKind } from "./postgres/triggers.ts";

/** Nothing. */
export async function up(): Promise<void> {}

/** Replaces the functions of two triggers, and makes the first of them run first. */
export async function upPostgres(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // No other head has the job. A head without a next job was changed before it was deleted.
  `create or replace function jobs_queue_left() returns trigger language plpgsql as $$
    declare next_id text;
    begin
      select jobs.id into next_id from jobs
        where ${queuedRule.isQueued("jobs.")} and ${isKind} order by jobs.id limit 1;
      if next_id is null then delete from queue_heads where job_id = old.id;
      else update queue_heads set job_id = next_id where job_id = old.id;
      end if;
      return null;
    end $$`,
  // A held job occupies its configuration and its worker: nothing else has to be looked at.
  `create or replace function jobs_held_change() returns trigger language plpgsql as $$
    begin
      if new.worker_id is not null and new.released_at is null then
        update queue_heads set is_free = 0 where spec_id = new.spec_id and is_free > 0;
        update queue_heads set is_free = 0
          where target_worker = new.worker_id and target_worker <> '' and is_free > 0;
      else
        update queue_heads set is_free = queue_head_is_free(spec_id, target_worker)
          where spec_id = new.spec_id;
        update queue_heads set is_free = queue_head_is_free(spec_id, target_worker)
          where target_worker = coalesce(new.worker_id, old.worker_id) and target_worker <> '';
      end if;
      return null;
    end $$`,
  // PostgreSQL runs triggers in the order of their names. The head of a claimed job is gone then.
  `alter trigger jobs_held_change on jobs rename to jobs_release_or_hold`,
];

/** What it replaces does the same as before. */
export const isAdditive = true;
