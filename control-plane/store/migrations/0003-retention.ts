/**
 * Retention: what was pruned, what is being removed, and the indexes by which old things are found.
 */
import { sql, type Kysely } from "kysely";

/** Adds the columns, tables and indexes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `alter table jobs add column log_pruned_at bigint`,
  `create index jobs_log_kept on jobs (released_at)
    where released_at is not null and started_at is not null and log_pruned_at is null`,
  // Logs whose job says that they are pruned and of which chunks may be left.
  `create table log_removals (job_id text primary key)`,
  `create index plan_artifacts_created on plan_artifacts (created_at)`,
  `alter table archives add column named_at bigint not null default 0`,
  `update archives set named_at = created_at`,
  `create index specs_archive on specs (json_extract(definition, '$.source.sha256'))`,
  `create index job_snapshots_archive on job_snapshots (json_extract(config_snapshot, '$.source.sha256'))`,
  // Blobs that no row names, and when each may be deleted.
  `create table unnamed_blobs (blob text primary key, delete_at bigint not null)`,
  `create index unnamed_blobs_due on unnamed_blobs (delete_at)`,
  `create index plan_artifacts_blob on plan_artifacts (blob)`,
  `create index archives_blob on archives (blob)`,
  `create index state_versions_blob on state_versions (blob)`,
];
