/**
 * The failure of a configuration that has still to be made good: a PLAN's success ends its status
 * FAILED, but not what an apply left half done.
 */
import { sql, type Kysely } from "kysely";

/** Adds the column, and finds in the history of each configuration what it is now. */
export const up = (db: Kysely<unknown>): Promise<void> =>
  add(db, "text", [
    // With all that is read of a configuration in a list.
    `drop index specs_summary`,
    `create index specs_summary on specs (owner_id, zone_id, id, name, status, updated_at, error_message, deployed_backend,
      failed_job_id, json_remove(json_extract(definition, '$.source'), '$.files'))`,
  ]);

/** An index there holds no long columns, so the one of lists does not change. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => add(db, `text collate "C"`, []);

async function add(db: Kysely<unknown>, text: string, more: readonly string[]): Promise<void> {
  const statements = [
    `alter table specs add column failed_job_id ${text}`,
    // The last apply or destruction, if it failed; else the last failure, of a configuration that is FAILED.
    `update specs set failed_job_id = coalesce(
      (select case when jobs.status = 'FAILED' then jobs.id end from jobs
        where spec_id = specs.id and started_at is not null and job_type <> 'PLAN' order by claimed_at desc limit 1),
      (select jobs.id from jobs where spec_id = specs.id and specs.status = 'FAILED' and jobs.status in ('FAILED', 'CANCELLED')
        order by jobs.id desc limit 1))`,
    `drop index specs_failed`,
    `create index specs_failed on specs (owner_id, failed_job_id) where failed_job_id is not null`,
    ...more,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
