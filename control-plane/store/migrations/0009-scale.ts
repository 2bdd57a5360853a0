/** Every list, page and poll reads by an index what it needs, however long the history is. */
import { sql, type Kysely } from "kysely";

/** Adds the indexes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // `worker_id` first made SQLite's planner prefer this index to the partial one of the jobs that a worker holds.
  `drop index jobs_worker`,
  `create index jobs_worker on jobs (owner_id, worker_id, id) where worker_id is not null`,
  `create index jobs_held on jobs (owner_id, id) where worker_id is not null and released_at is null`,
  `create index jobs_ended on jobs (owner_id, status, id) where ended_at is not null`,
  `create index jobs_zone on jobs (owner_id, zone_id, id) where zone_id is not null`,
  `create index jobs_zone_ended on jobs (owner_id, zone_id, status, id) where zone_id is not null and ended_at is not null`,
  // What the watch looks for twice a second.
  `create index jobs_omitted on jobs (omitted_at) where omitted_at is not null and released_at is null`,
  `create index jobs_cancelled on jobs (cancelled_at) where status = 'CANCELLED' and worker_id is not null and released_at is null`,
  // A list of what an owner has, newest first.
  `create index zones_owner on zones (owner_id, id)`,
  `create index specs_owner on specs (owner_id, id)`,
  `create index cloud_identities_owner on cloud_identities (owner_id, id)`,
  `drop index workers_owner`,
  `create index workers_owner on workers (owner_id, id)`,
  `drop index logins_user`,
  `create index logins_user on logins (user_id, id) where revoked_at is null`,
  `drop index specs_zone`,
  `create index specs_zone on specs (zone_id, id)`,
  `drop index specs_cloud_identity`,
  `create index specs_cloud_identity on specs (cloud_identity_id, id, name) where cloud_identity_id is not null`,
  // All that a table of configurations shows.
  `create index specs_summary on specs (owner_id, zone_id, id, name, status, updated_at, error_message,
    json_remove(json_extract(definition, '$.source'), '$.files'))`,
  `create index state_versions_serial on state_versions (spec_id, serial)`,
  // By time and not by id, so that a period is a range of the index.
  `drop index audit_entries_owner`,
  `create index audit_entries_owner on audit_entries (owner_id, created_at, id)`,
  `create index audit_entries_action on audit_entries (owner_id, action, created_at, id)`,
  `create index audit_entries_target on audit_entries (owner_id, target_id, created_at, id)`,
  `drop index job_snapshots_archive`,
  `create index job_snapshots_archive on job_snapshots (json_extract(config_snapshot, '$.source.sha256'), job_id)`,
  // The name that a job ran under, without reading the rest of its snapshot, which may have megabytes.
  `create index job_snapshots_name on job_snapshots (job_id, json_extract(config_snapshot, '$.name'))`,
];
