/** The schema of 0.1.0, on SQLite: that release had no other engine. */
import { sql, type Kysely } from "kysely";

export const version = 7;

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `create table users (id text primary key, email text not null, link_email text unique, created_at bigint not null)`,
  `create table accounts (
    provider text not null, subject text not null, user_id text not null references users(id), email text not null,
    access_token text not null, refresh_token text, token_expires_at bigint, created_at bigint not null,
    signed_in_at bigint not null, primary key (provider, subject))`,
  `create index accounts_user on accounts (user_id)`,
  `create table login_links (
    token_hash text primary key, email text not null, created_at bigint not null, expires_at bigint not null, used_at bigint)`,
  `create table logins (
    id text primary key, user_id text not null references users(id), kind text not null, created_at bigint not null,
    expires_at bigint not null, revoked_at bigint, refresh_jti text, previous_refresh_jti text, rotated_at bigint)`,
  `create index logins_user on logins (user_id)`,
  `create table cli_logins (
    device_code text primary key, profile_id text not null references users(id), wrong_guesses integer not null default 0, created_at bigint not null, expires_at bigint not null, used_at bigint)`,
  `create table zones (
    id text primary key, owner_id text not null references users(id), name text not null, created_at bigint not null,
    updated_at bigint not null, unique (owner_id, name))`,
  `create table cloud_identities (
    id text primary key, owner_id text not null references users(id), name text not null, provider text not null,
    role_arn text not null, external_id text not null unique, created_at bigint not null, updated_at bigint not null,
    unique (owner_id, name))`,
  `create table releases (version text primary key, release_notes text not null, created_at bigint not null)`,
  `create table specs (
    id text primary key, owner_id text not null references users(id), zone_id text not null references zones(id),
    cloud_identity_id text references cloud_identities(id), name text not null, project_name text not null, labels text not null, definition text not null,
    status text not null, error_message text, cluster_name text, cluster_endpoint text, gitops_url text,
    created_at bigint not null, updated_at bigint not null, unique (owner_id, name), unique (owner_id, project_name))`,
  `create index specs_zone on specs (zone_id)`,
  `create index specs_cloud_identity on specs (cloud_identity_id) where cloud_identity_id is not null`,
  `create table components (
    spec_id text not null references specs(id) on delete cascade, name text not null, type text not null, value text,
    sensitive integer not null, primary key (spec_id, name))`,
  `create table workers (
    id text primary key, owner_id text references users(id), name text not null, mode text not null, token_hash text not null,
    labels text not null, version text, instance_id text, hostname text, os text, arch text, capacity integer, isolation text,
    active_job_ids text, created_at bigint not null, last_heartbeat_at bigint, last_call_at bigint, offline_at bigint,
    draining_at bigint, metadata text not null)`,
  `create index workers_owner on workers (owner_id)`,
  `create table registration_tokens (
    token_hash text primary key, owner_id text not null references users(id), uses_left integer not null,
    created_at bigint not null, expires_at bigint not null)`,
  `create table jobs (
    id text primary key, owner_id text not null references users(id), job_type text not null, status text not null,
    spec_id text references specs(id), zone_id text, cloud_identity_id text, assigned_worker_id text, worker_id text,
    plan_job_id text, labels text not null, config_hash text, timeout_seconds integer not null, attempt integer not null,
    claim_key text, created_at bigint not null, claimed_at bigint, started_at bigint, cancelled_at bigint, ended_at bigint,
    released_at bigint, omitted_at bigint, spec_status_before text, error_message text, execution_metadata text, last_seq bigint, log_pruned_at bigint)`,
  // The claim walks the oldest queued jobs of one owner (or, for a cloud-hosted worker, of all):
  // ids sort by time.
  `create index jobs_queued on jobs (owner_id, id) where status = 'QUEUED'`,
  `create index jobs_queued_all on jobs (id) where status = 'QUEUED'`,
  // A spec has at most one claimed job that is not released, even if a statement is wrong
  // (docs/decisions.md, "Release").
  `create unique index jobs_unreleased_spec on jobs (spec_id) where worker_id is not null and released_at is null`,
  `create index jobs_unreleased_worker on jobs (worker_id) where worker_id is not null and released_at is null`,
  `create index jobs_owner on jobs (owner_id, id)`,
  `create index jobs_spec on jobs (spec_id, id)`,
  `create index jobs_plan on jobs (plan_job_id) where plan_job_id is not null`,
  `create table job_snapshots (job_id text primary key references jobs(id) on delete cascade, config_snapshot text not null)`,
  // AUTOINCREMENT: a log id only grows, even after retention has deleted the newest rows.
  `create table log_chunks (
    id integer primary key autoincrement, job_id text not null, seq bigint, stream_type text not null, log_chunk text not null,
    created_at bigint not null)`,
  `create index log_chunks_job on log_chunks (job_id, id)`,
  `create table plan_artifacts (
    job_id text primary key references jobs(id), attempt integer not null, blob text not null, size_bytes bigint not null,
    sha256 text not null, created_at bigint not null)`,
  `create table archives (
    owner_id text not null references users(id), sha256 text not null, blob text not null, size_bytes bigint not null,
    created_at bigint not null, named_at bigint not null default 0, primary key (owner_id, sha256))`,
  `create table state_versions (
    id integer primary key autoincrement, spec_id text not null references specs(id), serial bigint not null, lineage text not null,
    md5 text not null, size_bytes bigint not null, resources integer not null, blob text not null, job_id text,
    created_at bigint not null)`,
  `create index state_versions_spec on state_versions (spec_id, id)`,
  `create table state_locks (
    spec_id text primary key references specs(id), lock_id text not null, job_id text not null, info text not null,
    created_at bigint not null)`,
  `create table facts (name text primary key, value text not null)`,
  `create table plan_summaries (
    job_id text primary key references jobs(id) on delete cascade, plan_summary text not null)`,
  `create index jobs_log_kept on jobs (released_at)
    where released_at is not null and started_at is not null and log_pruned_at is null`,
  // Logs whose job says that they are pruned and of which chunks may be left.
  `create table log_removals (job_id text primary key)`,
  `create index plan_artifacts_created on plan_artifacts (created_at)`,
  `create index specs_archive on specs (json_extract(definition, '$.source.sha256'))`,
  `create index job_snapshots_archive on job_snapshots (json_extract(config_snapshot, '$.source.sha256'))`,
  // Blobs that no row names, and when each may be deleted.
  `create table unnamed_blobs (blob text primary key, delete_at bigint not null)`,
  `create index unnamed_blobs_due on unnamed_blobs (delete_at)`,
  `create index plan_artifacts_blob on plan_artifacts (blob)`,
  `create index archives_blob on archives (blob)`,
  `create index state_versions_blob on state_versions (blob)`,
  // Refers to no other table: an entry outlives what it names.
  `create table audit_entries (
    id text primary key, owner_id text, action text not null, actor_kind text not null, actor_id text, actor_name text,
    target_id text, target_name text, details text not null, ip_address text, user_agent text, request_id text,
    created_at bigint not null)`,
  `create index audit_entries_owner on audit_entries (owner_id, id)`,
  // Even a wrong statement of our own changes no entry.
  `create trigger audit_entries_kept before delete on audit_entries begin select raise(abort, 'audit entries are only added'); end`,
  `create trigger audit_entries_unchanged before update on audit_entries begin select raise(abort, 'audit entries are only added'); end`,
  `create index jobs_queued_spec on jobs (spec_id, id) where status = 'QUEUED' and spec_id is not null`,
  `create index jobs_queued_assigned on jobs (assigned_worker_id) where status = 'QUEUED' and assigned_worker_id is not null`,
  // Whether a later job has changed the configuration's infrastructure meanwhile.
  `create index jobs_spec_started on jobs (spec_id, claimed_at) where started_at is not null and job_type <> 'PLAN'`,
  `create index jobs_worker on jobs (worker_id, owner_id, id) where worker_id is not null`,
  `create index log_chunks_system on log_chunks (job_id, id) where stream_type = 'SYSTEM'`,
];
