/**
 * PostgreSQL's indexes. They have the names and purposes of SQLite's, but an entry may have at most
 * 2,700 bytes, so they leave out long columns that SQLite's have only to be read alone.
 */
import * as connections from "../connections.ts";
import * as notifications from "../notifications.ts";
import * as schedules from "../schedules.ts";
import * as providerSessions from "../provider-sessions.ts";
import * as teamGroups from "../team-groups.ts";
import { isQueued, wanted } from "../queue.ts";

/** What selects the queued jobs of one kind. */
export const kindOfJob = (row: string): readonly string[] => [
  `coalesce(${row}spec_id, '')`,
  `coalesce(${row}assigned_worker_id, '')`,
  `(${row}job_type = 'DESTROY_WORKER')`,
  wanted(row),
  `${row}queue_class`,
];

export const indexes = [
  `create unique index access_tokens_name on access_tokens (owner_id, name)`,
  `create index access_tokens_owner on access_tokens (owner_id, id)`,
  `create index accounts_user on accounts (user_id)`,
  `create index archives_blob on archives (blob)`,
  `create index audit_entries_action on audit_entries (owner_id, action, created_at, id)`,
  `create index audit_entries_owner on audit_entries (owner_id, created_at, id)`,
  `create index audit_entries_target on audit_entries (owner_id, target_id, created_at, id)`,
  `create index cloud_identities_owner on cloud_identities (owner_id, id)`,
  ...connections.indexes,
  ...notifications.indexes,
  ...schedules.indexes,
  ...providerSessions.indexes,
  ...teamGroups.indexes,
  `create index debug_logs_blob on debug_logs (blob)`,
  `create index invitations_space on invitations (space_id, id)`,
  `create index job_snapshots_archive on job_snapshots (json_extract(config_snapshot, '$.source.sha256'), job_id)`,
  `create index jobs_cancelled on jobs (cancelled_at) where status = 'CANCELLED' and worker_id is not null and released_at is null`,
  `create index jobs_created_by on jobs (owner_id, created_by, id) where created_by is not null`,
  `create index jobs_deployed on jobs (spec_id, claimed_at) where status = 'SUCCESS' and job_type <> 'PLAN' and job_type <> 'DESTROY_WORKER'`,
  `create index jobs_drift_check on jobs (spec_id, id) where drift_check = 1 and ended_at is null`,
  `create index jobs_ended on jobs (owner_id, status, id) where ended_at is not null`,
  `create index jobs_held on jobs (owner_id, id) where worker_id is not null and released_at is null`,
  `create index jobs_log_kept on jobs (released_at) where released_at is not null and started_at is not null and log_pruned_at is null`,
  `create index jobs_omitted on jobs (omitted_at) where omitted_at is not null and released_at is null`,
  `create index jobs_owner on jobs (owner_id, id)`,
  `create index jobs_plan on jobs (plan_job_id) where plan_job_id is not null`,
  `create index jobs_queued on jobs (owner_id, id) where status = 'QUEUED'`,
  `create index jobs_queued_all on jobs (id) where status = 'QUEUED'`,
  `create index jobs_queued_kind on jobs (${kindOfJob("").join(", ")}, id) where ${isQueued("")}`,
  `create index jobs_spec on jobs (spec_id, id)`,
  `create index jobs_spec_started on jobs (spec_id, claimed_at) where started_at is not null and job_type <> 'PLAN'`,
  `create index jobs_type on jobs (owner_id, job_type, id)`,
  `create unique index jobs_unreleased_spec on jobs (spec_id) where worker_id is not null and released_at is null`,
  `create index jobs_unapproved on jobs (owner_id, spec_id, id) where status = 'QUEUED' and unapproved = 1`,
  `create index jobs_unreleased_worker on jobs (worker_id) where worker_id is not null and released_at is null`,
  `create index jobs_worker on jobs (owner_id, worker_id, id) where worker_id is not null`,
  `create index jobs_zone on jobs (owner_id, zone_id, id) where zone_id is not null`,
  `create index jobs_zone_ended on jobs (owner_id, zone_id, status, id) where zone_id is not null and ended_at is not null`,
  `create index log_archives_blob on log_archives (blob)`,
  `create index log_chunks_job on log_chunks (job_id, id)`,
  `create index log_chunks_resource on log_chunks (job_id, id) where resource is not null`,
  `create index log_chunks_step on log_chunks (job_id, id) where step is not null`,
  `create index logins_user on logins (user_id, id) where revoked_at is null`,
  `create index loose_definitions_time on loose_definitions (remove_at)`,
  `create index memberships_user on memberships (user_id, space_id)`,
  `create index plan_artifacts_blob on plan_artifacts (blob)`,
  `create index plan_artifacts_created on plan_artifacts (created_at)`,
  // With all that a claim reads of a head, so that reading them in their order is the cheapest, whatever
  // PostgreSQL knows of the queue. The one of all owners has a condition that only statements for all
  // owners have: with a plan for any owner PostgreSQL chose it, and read 3,000 heads of others.
  `create index queue_heads_all on queue_heads (only_worker, first_wanted, wanted, queue_class, job_id)
    include (spec_id, target_worker) where is_free + 0 = 1`,
  `create index queue_heads_own on queue_heads (owner_id, only_worker, first_wanted, wanted, queue_class, job_id)
    include (spec_id, target_worker) where is_free = 1`,
  `create index queue_heads_target on queue_heads (target_worker) where target_worker <> ''`,
  `create index registration_tokens_owner on registration_tokens (owner_id, created_at, token_hash)`,
  `create index specs_archive on specs (json_extract(definition, '$.source.sha256'))`,
  `create index specs_cloud_identity on specs (cloud_identity_id, id, name) where cloud_identity_id is not null`,
  `create index specs_deleted on specs (id) where deleted_owner_id is not null`,
  `create index specs_drift on specs (owner_id, drift_status, id)`,
  `create index specs_failed on specs (owner_id, failed_job_id) where failed_job_id is not null`,
  `create index specs_failed_checks on specs (owner_id, id) where failed_checks > 0`,
  `create index specs_owner on specs (owner_id, id)`,
  `create index specs_summary on specs (owner_id, zone_id, id, name)`,
  `create index specs_zone on specs (zone_id, id)`,
  `create index state_versions_blob on state_versions (blob)`,
  `create index state_versions_serial on state_versions (spec_id, serial)`,
  `create index state_versions_spec on state_versions (spec_id, id)`,
  `create index unnamed_blobs_due on unnamed_blobs (delete_at)`,
  `create index users_blocked on users (blocked_at) where blocked_at is not null`,
  `create index variable_set_attachments_set on variable_set_attachments (set_id)`,
  `create unique index variable_set_specs on variable_set_attachments (spec_id, set_id) where spec_id is not null`,
  `create unique index variable_set_zones on variable_set_attachments (zone_id, set_id) where zone_id is not null`,
  `create unique index variable_sets_name on variable_sets (owner_id, name)`,
  `create index variable_sets_owner on variable_sets (owner_id, id)`,
  `create index workers_archive on workers (json_extract(metadata, '$.deploy_configuration.snapshot.source.sha256'))`,
  `create index workers_owner on workers (owner_id, id)`,
  `create index zones_owner on zones (owner_id, id)`,
  // By which a claim locks what it takes. A hash has no order: otherwise the planner looks for the
  // oldest job of one kind by the age of all jobs.
  `create index queue_heads_job on queue_heads using hash (job_id)`,
];
