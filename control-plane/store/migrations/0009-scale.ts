/**
 * Every list, page, poll and claim reads by an index what it needs, however long the history and
 * the queue are.
 */
import { sql, type Kysely } from "kysely";

/** Adds the indexes, and the heads of the queue. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...statements, ...queue, ...usage]) await sql.raw(statement).execute(db);
}

/**
 * The oldest queued jobs of each kind: kinds differ by configuration, by the worker that is asked
 * for or torn down, and by what a worker must have (`wanted`: labels). A claim looks at these
 * alone, and of these only at the free ones: those whose configuration is neither occupied nor
 * locked, and whose worker to tear down holds no job. Triggers keep the table, so no statement can
 * leave it wrong.
 */
const isTeardown = (row: string) => `(${row}job_type = 'DESTROY_WORKER')`;
/** The labels that a worker must have for the job of a row; a job for one worker asks for none. */
export const wantedLabels = (row: string): string =>
  `(case when ${row}assigned_worker_id is not null and ${row}job_type <> 'DESTROY_WORKER' then '[]' else ${row}labels end)`;
const isFree = (spec: string, target: string) => `
  not exists (select 1 from jobs indexed by jobs_unreleased_spec
    where jobs.spec_id = ${spec} and jobs.worker_id is not null and jobs.released_at is null)
  and not exists (select 1 from state_locks where state_locks.spec_id = ${spec})
  and not exists (select 1 from jobs indexed by jobs_unreleased_worker
    where jobs.worker_id = ${target} and jobs.worker_id is not null and jobs.released_at is null)`;
const refreshFree = `update queue_heads set is_free = (${isFree("queue_heads.spec_id", "queue_heads.target_worker")})`;
const columns = `spec_id, target_worker, only_worker, wanted, first_wanted, owner_id, job_id, is_free`;
const isHeld = (row: string) => `(${row}.worker_id is not null and ${row}.released_at is null)`;

/** Which jobs are in the queue, and the columns that decide it. */
export interface QueuedRule {
  readonly isQueued: (row: string) => string;
  readonly decidedBy: string;
}

/**
 * What depends on how `wanted` follows from a job: the heads of what is queued, and what keeps them
 * while jobs come and go.
 */
export function headsBy(
  wanted: (row: string) => string,
  { isQueued, decidedBy }: QueuedRule = {
    isQueued: (row) => `${row}status = 'QUEUED'`,
    decidedBy: "status",
  },
) {
  const kindOf = (row: string) => `coalesce(${row}spec_id, ''),
  iif(${isTeardown(row)}, ${row}assigned_worker_id, ''),
  iif(${isTeardown(row)}, '', coalesce(${row}assigned_worker_id, '')), ${wanted(row)}`;
  const isKindOf = (row: string) =>
    `(spec_id, target_worker, only_worker, wanted) = (${kindOf(row)})`;
  const headOf = (
    row: string,
    id: string,
  ) => `${kindOf(row)}, coalesce(json_extract(${wanted(row)}, '$[0]'), ''),
  ${row}owner_id, ${id}, ${isFree(`${row}spec_id`, `iif(${isTeardown(row)}, ${row}assigned_worker_id, '')`)}`;
  // Not of "jobs": inside of what asks whether one is free, that would be the job that is held.
  const fill = `insert into queue_heads (${columns})
    select ${headOf("queued.", "min(queued.id)")} from jobs as queued where ${isQueued("queued.")} group by ${kindOf("queued.")}`;
  const keep = [
    // The next job of a kind.
    `create index jobs_queued_kind on jobs (spec_id, assigned_worker_id, ${isTeardown("")}, ${wanted("")}, id) where ${isQueued("")}`,
    ...["insert", `update of ${decidedBy}`].map(
      (
        change,
      ) => `create trigger jobs_queued_${change === "insert" ? "new" : "again"} after ${change} on jobs
      when ${isQueued("new.")}${change === "insert" ? "" : ` and not (${isQueued("old.")})`} begin
      insert into queue_heads (${columns}) values (${headOf("new.", "new.id")})
        on conflict do update set job_id = excluded.job_id where excluded.job_id < job_id;
    end`,
    ),
    `create trigger jobs_queue_left after update of ${decidedBy} on jobs when ${isQueued("old.")} and not (${isQueued("new.")}) begin
    update queue_heads set job_id = coalesce((
      select id from jobs indexed by jobs_queued_kind
      where ${isQueued("")} and spec_id is old.spec_id and assigned_worker_id is old.assigned_worker_id
        and ${isTeardown("")} = ${isTeardown("old.")} and ${wanted("")} = ${wanted("old.")}
      order by id limit 1), '')
      where ${isKindOf("old.")} and job_id = old.id;
    delete from queue_heads where ${isKindOf("old.")} and job_id = '';
  end`,
  ];
  return { fill, keep };
}
const heads = headsBy(wantedLabels);

const queue = [
  `create table queue_heads (
    spec_id text not null, target_worker text not null, only_worker text not null, wanted text not null, first_wanted text not null,
    owner_id text not null, job_id text not null, is_free integer not null,
    primary key (spec_id, target_worker, only_worker, wanted)) without rowid`,
  `create index queue_heads_own on queue_heads (owner_id, only_worker, first_wanted, wanted, job_id) where is_free = 1`,
  `create index queue_heads_all on queue_heads (only_worker, first_wanted, wanted, job_id) where is_free = 1`,
  `create index queue_heads_target on queue_heads (target_worker) where target_worker <> ''`,
  heads.fill,
  ...heads.keep,
  ...["insert", "update of worker_id, released_at"].map(
    (
      change,
    ) => `create trigger jobs_held_${change === "insert" ? "new" : "change"} after ${change} on jobs
      when ${change === "insert" ? isHeld("new") : `${isHeld("new")} <> ${isHeld("old")}`} begin
      ${refreshFree} where spec_id = new.spec_id;
      ${refreshFree} where target_worker = coalesce(new.worker_id, ${change === "insert" ? "''" : "old.worker_id"}) and target_worker <> '';
    end`,
  ),
  `create trigger state_locks_taken after insert on state_locks begin
    ${refreshFree} where spec_id = new.spec_id;
  end`,
  `create trigger state_locks_released after delete on state_locks begin
    ${refreshFree} where spec_id = old.spec_id;
  end`,
];

/** What an owner has stored, in bytes, so that a quota is judged without adding up. */
const add = (column: string, owner: string, bytes: string) => `
  insert into owner_usage (owner_id, ${column}) select ${owner}, ${bytes} where true
    on conflict (owner_id) do update set ${column} = ${column} + excluded.${column};`;
const ownerOf = (row: string) => `(select owner_id from specs where specs.id = ${row}.spec_id)`;

const usage = [
  `create table owner_usage (
    owner_id text primary key, archive_bytes bigint not null default 0, state_bytes bigint not null default 0) without rowid`,
  `insert into owner_usage (owner_id, archive_bytes, state_bytes)
    select users.id,
      coalesce((select sum(size_bytes) from archives where archives.owner_id = users.id), 0),
      coalesce((select sum(size_bytes) from state_versions join specs on specs.id = state_versions.spec_id
        where specs.owner_id = users.id), 0)
    from users`,
  `create trigger archives_added after insert on archives begin
    ${add("archive_bytes", "new.owner_id", "new.size_bytes")}
  end`,
  `create trigger archives_removed after delete on archives begin
    ${add("archive_bytes", "old.owner_id", "-old.size_bytes")}
  end`,
  `create trigger state_versions_added after insert on state_versions begin
    ${add("state_bytes", ownerOf("new"), "new.size_bytes")}
  end`,
  `create trigger state_versions_removed after delete on state_versions begin
    ${add("state_bytes", ownerOf("old"), "-old.size_bytes")}
  end`,
  `create table log_volumes (
    job_id text primary key, bytes bigint not null, dropped_bytes bigint not null, dropped_seq bigint not null) without rowid`,
  `create trigger log_volumes_removed after delete on log_removals begin
    delete from log_volumes where job_id = old.job_id;
  end`,
];

const statements = [
  // `worker_id` first made SQLite's planner prefer this index to the partial one of the jobs that a
  // worker holds.
  `drop index jobs_worker`,
  `create index jobs_worker on jobs (owner_id, worker_id, id) where worker_id is not null`,
  `create index jobs_held on jobs (owner_id, id) where worker_id is not null and released_at is null`,
  `create index jobs_ended on jobs (owner_id, status, id) where ended_at is not null`,
  `create index jobs_zone on jobs (owner_id, zone_id, id) where zone_id is not null`,
  `create index jobs_zone_ended on jobs (owner_id, zone_id, status, id) where zone_id is not null and ended_at is not null`,
  // The oldest jobs of a queue stand in a table of their own.
  `drop index jobs_queued_spec`,
  `drop index jobs_queued_assigned`,
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
  // The name that a job ran under, without reading the rest of its snapshot, which may have
  // megabytes.
  `create index job_snapshots_name on job_snapshots (job_id, json_extract(config_snapshot, '$.name'))`,
];
