/**
 * The schema of 0.2.0: on SQLite made from that of 0.1.0, on PostgreSQL at once. Until 0.2.0 is
 * released, changes of the schema change this file and postgres/, and raise the version.
 */
import { sql, type Kysely } from "kysely";
import * as connections from "./connections.ts";
import { data } from "./data-0.2.0.ts";
import * as notifications from "./notifications.ts";
import * as schedules from "./schedules.ts";
import * as providerSessions from "./provider-sessions.ts";
import * as teamGroups from "./team-groups.ts";
import { functions } from "./postgres/functions.ts";
import { indexes as postgresIndexes } from "./postgres/indexes.ts";
import { rowSecurity } from "./postgres/row-security.ts";
import { tables as postgresTables } from "./postgres/tables.ts";
import { triggers as postgresTriggers } from "./postgres/triggers.ts";
import { fillQueueHeads, queue } from "./queue.ts";

/** Commits before 0.2.0 have used 8 to 56 for other schemas, which are refused. */
export const version = 57;

/**
 * Reads each job, its snapshot and its audit entries a bounded number of times: a million jobs in
 * 3.4 GB take 35 to 69 s and 1.4 GB of write-ahead log, the larger half of it for indexes. One
 * transaction, so a server that is killed meanwhile has changed nothing. Changes the text of the
 * schema, so the connection must be in unsafe mode (engines/sqlite.ts).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [
    ...columns,
    ...tables,
    ...data,
    ...indexes,
    ...queue,
    fillQueueHeads,
    ...triggers,
  ])
    await sql.raw(statement).execute(db);
}

/** 0.1.0 had no PostgreSQL. engines/postgres.process.test.ts compares both engines. */
export async function upPostgres(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`
    select quote_ident(current_schema()) as schema`.execute(db);
  for (const statement of [
    ...functions,
    ...postgresTables,
    ...postgresIndexes,
    ...postgresTriggers(rows[0]!.schema),
    ...rowSecurity,
  ])
    await sql.raw(statement).execute(db);
}

const add = (table: string, ...added: string[]): string[] =>
  added.map((column) => `alter table ${table} add column ${column}`);

const columns = [
  ...add("schema_version", "compatible_since integer"),
  ...add(
    "users",
    "asked_at integer",
    "unanswered_since integer",
    "allowed_group text",
    "blocked_at integer",
  ),
  ...add("workers", "old_token_hash text", "old_token_expires_at bigint"),
  ...add("workers", "features text not null default '[]'", "ephemeral integer not null default 0"),
  ...add("registration_tokens", "ephemeral integer not null default 0"),
  ...add(
    "specs",
    "deleted_owner_id text",
    "deployed_backend text",
    "failed_job_id text",
    "approval_when text",
    "approval_count integer not null default 1",
    "approval_by_author integer not null default 0",
    "outputs_omitted integer not null default 0",
    "version bigint not null default 0",
    "definition_id text",
    "failed_checks integer",
    "drift_status text not null default 'unchecked'",
    "drift_since bigint",
    "drift_checked_at bigint",
    "drift_job_id text",
    "drift_resources integer not null default 0",
    "drift_told integer not null default 0",
  ),
  ...add("logins", "provider_session_id text"),
  ...add("cli_logins", "provider_session_id text"),
  ...add("components", "omitted_bytes integer"),
  ...add("cloud_identities", "plan_role_arn text", "settings text"),
  ...add(
    "jobs",
    "features text not null default '[]'",
    "presumed_lost_at bigint",
    "outcome_unknown integer not null default 0",
    "destroys integer not null default 0",
    "created_by text",
    "creator_id text",
    "destructive integer not null default 1",
    "unapproved integer not null default 0",
    "cancelled_by text",
    "identity_used text",
    "failure text",
    "failed_checks integer",
    "drift_check integer not null default 0",
  ),
  ...add("job_snapshots", "definition_id text"),
  ...add("log_chunks", "step text", "resource text"),
  ...add("state_versions", "stored_by text", "copy_of integer", "resource_count integer"),
  ...schedules.columns,
];

const tables = [
  // What has an owner belongs to a space: that of a user, which has the same id, or a team's. A change
  // of the schema's text costs the same at any history
  // (https://www.sqlite.org/lang_altertable.html#otheralter).
  `pragma writable_schema = on`,
  `update sqlite_schema set sql = replace(replace(sql,
      'owner_id text not null references users(id)', 'owner_id text not null references spaces(id)'),
      'owner_id text references users(id)', 'owner_id text references spaces(id)') where type = 'table'`,
  `pragma writable_schema = reset`,
  `create table spaces (id text primary key, event_sequence bigint not null default 0)`,
  `create table teams (
    id text primary key references spaces(id), slug text not null unique, name text not null,
    created_at bigint not null)`,
  `create table memberships (
    space_id text not null references teams(id) on delete cascade, user_id text not null references users(id),
    role text not null, zones text not null default '{}', joined_at bigint not null, invited_by text references users(id),
    invited_role text, invited_zones text not null default '{}', group_role text,
    group_zones text not null default '{}', group_names text not null default '[]',
    primary key (space_id, user_id))`,
  `create table invitations (
    id text primary key, space_id text not null references teams(id) on delete cascade,
    token_hash text not null unique, role text not null, zones text not null default '{}', email text,
    created_by text not null references users(id), created_at bigint not null, expires_at bigint not null,
    used_at bigint)`,
  `create table access_tokens (
      id text primary key, owner_id text not null references spaces(id),
      created_by text not null references users(id), name text not null, role text not null,
      zones text not null default '{}', configurations text,
      prefix text not null, token_hash text not null unique, created_at bigint not null,
      expires_at bigint not null, last_used_at bigint, last_used_from text)`,
  // Accounts get the host of their provider. The server replaces an empty one at its next start.
  `create table accounts_by_host (
    provider text not null, host text not null, subject text not null, user_id text not null references users(id), email text not null,
    access_token text not null, refresh_token text, token_expires_at bigint, created_at bigint not null,
    signed_in_at bigint not null, primary key (provider, host, subject))`,
  `insert into accounts_by_host
    (provider, host, subject, user_id, email, access_token, refresh_token, token_expires_at, created_at, signed_in_at)
    select provider, '', subject, user_id, email, access_token, refresh_token, token_expires_at, created_at, signed_in_at from accounts`,
  `drop table accounts`,
  `alter table accounts_by_host rename to accounts`,
  ...add("accounts", "verified text", "groups text", "groups_at bigint"),
  ...providerSessions.tables("text"),
  ...teamGroups.tables("text"),
  ...connections.tables("text"),
  ...notifications.tables("text", "integer primary key autoincrement"),
  ...schedules.tables("text"),
  `create table variable_sets (
    id text primary key, owner_id text not null references spaces(id), name text not null,
    definition text not null, created_at bigint not null, updated_at bigint not null, version bigint not null default 0, definition_id text)`,
  `create table variable_set_attachments (
    set_id text not null references variable_sets(id) on delete cascade,
    zone_id text references zones(id) on delete cascade,
    spec_id text references specs(id) on delete cascade,
    check ((zone_id is null) <> (spec_id is null)))`,
  `create table definitions (
    id text primary key, about text not null, bytes bigint not null, content text not null)`,
  `create table loose_definitions (id text primary key, remove_at bigint not null)`,
  `create table job_approvals (
    job_id text not null references jobs(id), user_id text not null references users(id), email text not null,
    decision text not null, comment text, decided_at bigint not null, primary key (job_id, user_id))`,
  `create table plan_attributes (
    job_id text primary key references jobs(id) on delete cascade, attributes text not null)`,
  `create table debug_logs (
    job_id text primary key references jobs(id), attempt integer not null, blob text not null, size_bytes bigint not null,
    sha256 text not null, created_at bigint not null)`,
  `create table log_volumes (
    job_id text primary key, bytes bigint not null, dropped_bytes bigint not null, dropped_seq bigint not null) without rowid`,
  `create table log_archives (
    job_id text primary key references jobs(id), blob text not null, size_bytes bigint not null, marks_at bigint not null,
    index_at bigint not null, last_id bigint not null, last_seq bigint, last_at bigint not null)`,
  `create table owner_usage (
    owner_id text primary key, archive_bytes bigint not null default 0, state_bytes bigint not null default 0) without rowid`,
];

const indexes = [
  ...[
    "jobs_worker",
    "jobs_queued_spec",
    "jobs_queued_assigned",
    "workers_owner",
    "logins_user",
    "specs_zone",
    "specs_cloud_identity",
    "job_snapshots_archive",
    "log_chunks_system",
  ].map((name) => `drop index ${name}`),
  // `worker_id` first made SQLite's planner prefer this index to the partial one of the jobs that a
  // worker holds.
  `create index jobs_worker on jobs (owner_id, worker_id, id) where worker_id is not null`,
  `create index jobs_held on jobs (owner_id, id) where worker_id is not null and released_at is null`,
  `create index jobs_ended on jobs (owner_id, status, id) where ended_at is not null`,
  `create index jobs_zone on jobs (owner_id, zone_id, id) where zone_id is not null`,
  `create index jobs_zone_ended on jobs (owner_id, zone_id, status, id) where zone_id is not null and ended_at is not null`,
  `create index jobs_created_by on jobs (owner_id, created_by, id) where created_by is not null`,
  `create index jobs_type on jobs (owner_id, job_type, id)`,
  `create index jobs_unapproved on jobs (owner_id, spec_id, id) where status = 'QUEUED' and unapproved = 1`,
  // What is deployed, however many plans there were since.
  `create index jobs_deployed on jobs (spec_id, claimed_at)
    where status = 'SUCCESS' and job_type <> 'PLAN' and job_type <> 'DESTROY_WORKER'`,
  // What the watch looks for twice a second.
  `create index jobs_omitted on jobs (omitted_at) where omitted_at is not null and released_at is null`,
  `create index jobs_cancelled on jobs (cancelled_at) where status = 'CANCELLED' and worker_id is not null and released_at is null`,
  // Lists, newest first.
  `create index zones_owner on zones (owner_id, id)`,
  `create index specs_owner on specs (owner_id, id)`,
  `create index cloud_identities_owner on cloud_identities (owner_id, id)`,
  `create index workers_owner on workers (owner_id, id)`,
  `create index logins_user on logins (user_id, id) where revoked_at is null`,
  `create index specs_zone on specs (zone_id, id)`,
  `create index specs_cloud_identity on specs (cloud_identity_id, id, name) where cloud_identity_id is not null`,
  `create index specs_deleted on specs (id) where deleted_owner_id is not null`,
  `create index specs_failed on specs (owner_id, failed_job_id) where failed_job_id is not null`,
  `create index specs_failed_checks on specs (owner_id, id) where failed_checks > 0`,
  `create index specs_drift on specs (owner_id, drift_status, id)`,
  `create index jobs_drift_check on jobs (spec_id, id) where drift_check = 1 and ended_at is null`,
  // All that a list of configurations shows.
  `create index specs_summary on specs (owner_id, zone_id, id, name, status, updated_at, error_message, deployed_backend,
      failed_job_id, failed_checks, drift_status, json_remove(json_extract(definition, '$.source'), '$.files'))`,
  `create index accounts_user on accounts (user_id)`,
  `create index memberships_user on memberships (user_id, space_id)`,
  `create index invitations_space on invitations (space_id, id)`,
  `create unique index access_tokens_name on access_tokens (owner_id, name)`,
  `create index access_tokens_owner on access_tokens (owner_id, id)`,
  `create index users_blocked on users (blocked_at) where blocked_at is not null`,
  `create index registration_tokens_owner on registration_tokens (owner_id, created_at, token_hash)`,
  ...connections.indexes,
  ...notifications.indexes,
  ...schedules.indexes,
  ...providerSessions.indexes,
  ...teamGroups.indexes,
  `create unique index variable_sets_name on variable_sets (owner_id, name)`,
  `create index variable_sets_owner on variable_sets (owner_id, id)`,
  `create unique index variable_set_zones on variable_set_attachments (zone_id, set_id) where zone_id is not null`,
  `create unique index variable_set_specs on variable_set_attachments (spec_id, set_id) where spec_id is not null`,
  `create index variable_set_attachments_set on variable_set_attachments (set_id)`,
  `create index loose_definitions_time on loose_definitions (remove_at)`,
  `create index state_versions_serial on state_versions (spec_id, serial)`,
  `create index job_snapshots_archive on job_snapshots (json_extract(config_snapshot, '$.source.sha256'), job_id)`,
  // The name that a job ran under, and the counts of a plan, without the rest of the row, which may
  // have megabytes.
  `create index job_snapshots_name on job_snapshots (job_id, json_extract(config_snapshot, '$.name'))`,
  `create index plan_summaries_counts on plan_summaries (job_id, json_extract(plan_summary, '$.counts'))`,
  // The workers whose deploy configuration has an archive as its source.
  `create index workers_archive on workers (json_extract(metadata, '$.deploy_configuration.snapshot.source.sha256'))`,
  // The few chunks of a log that start or end a step, or change a resource.
  `create index log_chunks_step on log_chunks (job_id, id) where step is not null`,
  `create index log_chunks_resource on log_chunks (job_id, id) where resource is not null`,
  `create index debug_logs_blob on debug_logs (blob)`,
  `create index log_archives_blob on log_archives (blob)`,
];

/** What an owner has stored, in bytes, so that a quota is checked without adding up. */
const count = (column: string, owner: string, bytes: string) => `
  insert into owner_usage (owner_id, ${column}) select ${owner}, ${bytes} where true
    on conflict (owner_id) do update set ${column} = ${column} + excluded.${column};`;

/** Notes which definitions no row names. */
const definitionTriggers = (table: string): string[] => {
  const name = `
    select raise(abort, 'the definition does not exist any more')
      where new.definition_id is not null
        and not exists (select 1 from loose_definitions where id = new.definition_id);
    delete from loose_definitions where id = new.definition_id;`;
  const leave = `insert into loose_definitions select old.definition_id, 0 where old.definition_id is not null;`;
  return [
    `create trigger ${table}_definition_new after insert on ${table}
      when new.definition_id is not null begin ${name} end`,
    `create trigger ${table}_definition_changed after update of definition_id on ${table}
      when new.definition_id is not old.definition_id begin ${leave} ${name} end`,
    `create trigger ${table}_definition_gone after delete on ${table}
      when old.definition_id is not null begin ${leave} end`,
  ];
};

const triggers = [
  `create trigger users_space after insert on users begin
      insert into spaces (id) values (new.id);
    end`,
  `create trigger archives_added after insert on archives begin
    ${count("archive_bytes", "new.owner_id", "new.size_bytes")}
  end`,
  `create trigger archives_removed after delete on archives begin
    ${count("archive_bytes", "old.owner_id", "-old.size_bytes")}
  end`,
  `create trigger state_versions_added after insert on state_versions begin
    ${count("state_bytes", "(select owner_id from specs where specs.id = new.spec_id)", "new.size_bytes")}
  end`,
  // What is left of a state that is being removed counts for the owner that it had.
  `create trigger state_versions_removed after delete on state_versions begin
    insert into owner_usage (owner_id, state_bytes)
      select coalesce(deleted_owner_id, owner_id), -old.size_bytes from specs where id = old.spec_id
      on conflict (owner_id) do update set state_bytes = state_bytes + excluded.state_bytes;
  end`,
  `create trigger log_volumes_removed after delete on log_removals begin
    delete from log_volumes where job_id = old.job_id;
  end`,
  ...["specs", "variable_sets", "job_snapshots"].flatMap(definitionTriggers),
];
