/**
 * The heads of the queue: the oldest queued job of each kind, without jobs that wait for approvals.
 * Kinds differ by configuration, by the worker that is asked for or torn down, by what a worker
 * must have (`wanted`), and by the class of the job. A claim looks only at heads that are free: their configuration is neither
 * occupied nor locked, and their worker to tear down holds no job. Triggers maintain the table, so no
 * statement can leave it wrong. This is SQLite's; PostgreSQL's is in postgres/triggers.ts.
 */

const isTeardown = (row: string) => `(${row}job_type = 'DESTROY_WORKER')`;
/** The labels that a worker must have. A job for one worker needs none. */
const wantedLabels = (row: string): string =>
  `(case when ${row}assigned_worker_id is not null and ${row}job_type <> 'DESTROY_WORKER' then '[]' else ${row}labels end)`;
/** No label begins with `+`, so none can stand for a feature. Names are letters and `_`. */
const marks = (row: string) => `replace(replace(${row}features, '["', '["+'), ',"', ',"+')`;
/** The labels, then the features. Both are JSON lists without spaces. */
export const wanted = (row: string): string => `(case
  when ${row}features = '[]' then ${wantedLabels(row)}
  when ${wantedLabels(row)} = '[]' then ${marks(row)}
  else substr(${wantedLabels(row)}, 1, length(${wantedLabels(row)}) - 1) || ',' || substr(${marks(row)}, 2) end)`;

export const isQueued = (row: string): string => `${row}status = 'QUEUED' and ${row}unapproved = 0`;
/** The columns that decide it. */
export const decidesQueued = "status, unapproved";
/** What tells heads apart. */
export const headKey = `spec_id, target_worker, only_worker, wanted, queue_class`;
export const headColumns = `${headKey}, first_wanted, owner_id, job_id, is_free`;
export const isHeld = (row: string): string =>
  `(${row}.worker_id is not null and ${row}.released_at is null)`;

const isFree = (spec: string, target: string) => `
  not exists (select 1 from jobs indexed by jobs_unreleased_spec
    where jobs.spec_id = ${spec} and jobs.worker_id is not null and jobs.released_at is null)
  and not exists (select 1 from state_locks where state_locks.spec_id = ${spec})
  and not exists (select 1 from jobs indexed by jobs_unreleased_worker
    where jobs.worker_id = ${target} and jobs.worker_id is not null and jobs.released_at is null)`;
const refreshFree = `update queue_heads set is_free = (${isFree("queue_heads.spec_id", "queue_heads.target_worker")})`;

const kindOf = (row: string) => `coalesce(${row}spec_id, ''),
  iif(${isTeardown(row)}, ${row}assigned_worker_id, ''),
  iif(${isTeardown(row)}, '', coalesce(${row}assigned_worker_id, '')), ${wanted(row)}, ${row}queue_class`;
const isKindOf = (row: string) => `(${headKey}) = (${kindOf(row)})`;
const headOf = (
  row: string,
  id: string,
) => `${kindOf(row)}, coalesce(json_extract(${wanted(row)}, '$[0]'), ''),
  ${row}owner_id, ${id}, ${isFree(`${row}spec_id`, `iif(${isTeardown(row)}, ${row}assigned_worker_id, '')`)}`;

/** Reads `jobs` under another name: inside of `isFree`, `jobs` is the job that is held. */
export const fillQueueHeads = `insert into queue_heads (${headColumns})
    select ${headOf("queued.", "min(queued.id)")} from jobs as queued where ${isQueued("queued.")} group by ${kindOf("queued.")}`;

const whenQueued = (name: string, change: string, also: string) =>
  `create trigger ${name} after ${change} on jobs
      when ${isQueued("new.")}${also} begin
      insert into queue_heads (${headColumns}) values (${headOf("new.", "new.id")})
        on conflict do update set job_id = excluded.job_id where excluded.job_id < job_id;
    end`;
const whenHeld = (name: string, change: string, condition: string, before: string) =>
  `create trigger ${name} after ${change} on jobs
      when ${condition} begin
      ${refreshFree} where spec_id = new.spec_id;
      ${refreshFree} where target_worker = coalesce(new.worker_id, ${before}) and target_worker <> '';
    end`;

/** Creates the table, its indexes and its triggers. Needs all columns of `jobs`. */
export const queue = [
  `create table queue_heads (
    spec_id text not null, target_worker text not null, only_worker text not null, wanted text not null,
    queue_class integer not null, first_wanted text not null, owner_id text not null, job_id text not null,
    is_free integer not null, primary key (${headKey})) without rowid`,
  `create index queue_heads_own on queue_heads (owner_id, only_worker, first_wanted, wanted, queue_class, job_id) where is_free = 1`,
  `create index queue_heads_all on queue_heads (only_worker, first_wanted, wanted, queue_class, job_id) where is_free = 1`,
  `create index queue_heads_target on queue_heads (target_worker) where target_worker <> ''`,
  whenHeld("jobs_held_new", "insert", isHeld("new"), "''"),
  whenHeld(
    "jobs_held_change",
    "update of worker_id, released_at",
    `${isHeld("new")} <> ${isHeld("old")}`,
    "old.worker_id",
  ),
  `create trigger state_locks_taken after insert on state_locks begin
    ${refreshFree} where spec_id = new.spec_id;
  end`,
  `create trigger state_locks_released after delete on state_locks begin
    ${refreshFree} where spec_id = old.spec_id;
  end`,
  // The next job of a kind. These triggers come last, because SQLite runs the newest first: the head of
  // a claimed job is gone when the others run.
  `create index jobs_queued_kind on jobs (spec_id, assigned_worker_id, ${isTeardown("")}, ${wanted("")}, queue_class, id) where ${isQueued("")}`,
  whenQueued("jobs_queued_new", "insert", ""),
  whenQueued("jobs_queued_again", `update of ${decidesQueued}`, ` and not (${isQueued("old.")})`),
  `create trigger jobs_queue_left after update of ${decidesQueued} on jobs when ${isQueued("old.")} and not (${isQueued("new.")}) begin
    update queue_heads set job_id = coalesce((
      select id from jobs indexed by jobs_queued_kind
      where ${isQueued("")} and spec_id is old.spec_id and assigned_worker_id is old.assigned_worker_id
        and ${isTeardown("")} = ${isTeardown("old.")} and ${wanted("")} = ${wanted("old.")} and queue_class = old.queue_class
      order by id limit 1), '')
      where ${isKindOf("old.")} and job_id = old.id;
    delete from queue_heads where ${isKindOf("old.")} and job_id = '';
  end`,
];
