/**
 * PostgreSQL's triggers: the same as SQLite's (0005-only-added.ts, 0009-scale.ts, 0014-features.ts,
 * 0016-removals.ts).
 */
import type { QueuedRule } from "../0009-scale.ts";
import { wanted } from "../0014-features.ts";
import { kindOfJob } from "./indexes.ts";

const trigger = (name: string, when: string, table: string, work: string, condition = "true") => [
  `create or replace function ${name}() returns trigger language plpgsql as $$ begin ${work} return null; end $$`,
  `create or replace trigger ${name} after ${when} on ${table} for each row when (${condition})
    execute function ${name}()`,
];

const target = (row: string) =>
  `(case when ${row}job_type = 'DESTROY_WORKER' then ${row}assigned_worker_id else '' end)`;
const onlyWorker = (row: string) =>
  `(case when ${row}job_type = 'DESTROY_WORKER' then '' else coalesce(${row}assigned_worker_id, '') end)`;
const headOf = (row: string) =>
  `coalesce(${row}spec_id, ''), ${target(row)}, ${onlyWorker(row)}, ${wanted(row)}`;
const columns = `spec_id, target_worker, only_worker, wanted, first_wanted, owner_id, job_id, is_free`;
const valuesOf = (
  row: string,
  id: string,
) => `${headOf(row)}, coalesce(${wanted(row)}::json ->> 0, ''),
  ${row}owner_id, ${id}, queue_head_is_free(${row}spec_id, ${target(row)})`;

/** Makes the heads of a queue without any. */
export const fillQueueHeads = ({
  isQueued,
}: QueuedRule): string => `insert into queue_heads (${columns})
  select ${valuesOf("queued.", "queued.id")} from (
    select distinct on (${headOf("jobs.")}) * from jobs where ${isQueued("")}
      order by ${headOf("jobs.")}, id) as queued`;

const addHead = `insert into queue_heads (${columns}) values (${valuesOf("new.", "new.id")})
  on conflict (spec_id, target_worker, only_worker, wanted)
    do update set job_id = excluded.job_id where excluded.job_id < queue_heads.job_id;`;
const isHead = (row: string) => `(spec_id, target_worker, only_worker, wanted) = (${headOf(row)})`;
/** Whether a row of `jobs` is of the same kind as `old`. */
export const isKind = kindOfJob("jobs.")
  .map((part, index) => `${part} = ${kindOfJob("old.")[index]}`)
  .join(" and ");

const refreshFree = `update queue_heads set is_free = queue_head_is_free(spec_id, target_worker)`;
const isHeld = (row: string) => `(${row}.worker_id is not null and ${row}.released_at is null)`;

/** What keeps the heads while jobs come and go. */
export function queueTriggers({ isQueued, decidedBy }: QueuedRule): string[] {
  return [
    ...trigger("jobs_queued_new", "insert", "jobs", addHead, isQueued("new.")),
    ...trigger(
      "jobs_queued_again",
      `update of ${decidedBy}`,
      "jobs",
      addHead,
      `${isQueued("new.")} and not (${isQueued("old.")})`,
    ),
    ...trigger(
      "jobs_queue_left",
      `update of ${decidedBy}`,
      "jobs",
      `update queue_heads set job_id = coalesce((
        select jobs.id from jobs where ${isQueued("jobs.")} and ${isKind} order by jobs.id limit 1), '')
      where ${isHead("old.")} and job_id = old.id;
    delete from queue_heads where ${isHead("old.")} and job_id = '';`,
      `${isQueued("old.")} and not (${isQueued("new.")})`,
    ),
  ];
}

const add = (column: string, owner: string, bytes: string) => `
  insert into owner_usage (owner_id, ${column}) values (${owner}, ${bytes})
    on conflict (owner_id) do update set ${column} = owner_usage.${column} + excluded.${column};`;

export const triggers = [
  // Whether neither the configuration nor the worker to tear down is occupied.
  `create function queue_head_is_free(spec text, target text) returns integer language sql stable
    return cast(
      not exists (select 1 from jobs
        where jobs.spec_id = spec and jobs.worker_id is not null and jobs.released_at is null)
      and not exists (select 1 from state_locks where state_locks.spec_id = spec)
      and not exists (select 1 from jobs
        where jobs.worker_id = target and jobs.worker_id is not null and jobs.released_at is null)
      as integer)`,
  ...queueTriggers({ isQueued: (row) => `${row}status = 'QUEUED'`, decidedBy: "status" }),
  ...trigger(
    "jobs_held_new",
    "insert",
    "jobs",
    `${refreshFree} where spec_id = new.spec_id;
    ${refreshFree} where target_worker = new.worker_id and target_worker <> '';`,
    isHeld("new"),
  ),
  ...trigger(
    "jobs_held_change",
    "update of worker_id, released_at",
    "jobs",
    `${refreshFree} where spec_id = new.spec_id;
    ${refreshFree} where target_worker = coalesce(new.worker_id, old.worker_id) and target_worker <> '';`,
    `${isHeld("new")} <> ${isHeld("old")}`,
  ),
  ...trigger(
    "state_locks_taken",
    "insert",
    "state_locks",
    `${refreshFree} where spec_id = new.spec_id;`,
  ),
  ...trigger(
    "state_locks_released",
    "delete",
    "state_locks",
    `${refreshFree} where spec_id = old.spec_id;`,
  ),
  ...trigger(
    "archives_added",
    "insert",
    "archives",
    add("archive_bytes", "new.owner_id", "new.size_bytes"),
  ),
  ...trigger(
    "archives_removed",
    "delete",
    "archives",
    add("archive_bytes", "old.owner_id", "-old.size_bytes"),
  ),
  ...trigger(
    "state_versions_added",
    "insert",
    "state_versions",
    add(
      "state_bytes",
      "(select owner_id from specs where specs.id = new.spec_id)",
      "new.size_bytes",
    ),
  ),
  ...trigger(
    "state_versions_removed",
    "delete",
    "state_versions",
    add(
      "state_bytes",
      "(select coalesce(deleted_owner_id, owner_id) from specs where specs.id = old.spec_id)",
      "-old.size_bytes",
    ),
  ),
  ...trigger(
    "log_volumes_removed",
    "delete",
    "log_removals",
    `delete from log_volumes where job_id = old.job_id;`,
  ),
  // Even a wrong statement of our own changes no entry.
  `create function audit_entries_only_added() returns trigger language plpgsql as $$
    begin raise exception 'audit entries are only added'; end $$`,
  ...["delete", "update"].map(
    (change) => `create trigger audit_entries_${change === "delete" ? "kept" : "unchanged"}
      before ${change} on audit_entries for each row execute function audit_entries_only_added()`,
  ),
  `create trigger audit_entries_not_emptied before truncate on audit_entries
    for each statement execute function audit_entries_only_added()`,
];
