/** Those of SQLite, and what a claim does to the queue (../queue.ts) in fewer statements. */
import { decidesQueued, headColumns, headKey, isHeld, isQueued, wanted } from "../queue.ts";
import { kindOfJob } from "./indexes.ts";

const target = (row: string) =>
  `(case when ${row}job_type = 'DESTROY_WORKER' then ${row}assigned_worker_id else '' end)`;
const onlyWorker = (row: string) =>
  `(case when ${row}job_type = 'DESTROY_WORKER' then '' else coalesce(${row}assigned_worker_id, '') end)`;
const headOf = (row: string) =>
  `coalesce(${row}spec_id, ''), ${target(row)}, ${onlyWorker(row)}, ${wanted(row)}, ${row}queue_class`;

const addHead = `insert into queue_heads (${headColumns}) values (${headOf("new.")},
    coalesce(${wanted("new.")}::json ->> 0, ''), new.owner_id, new.id, queue_head_is_free(new.spec_id, ${target("new.")}))
  on conflict (${headKey})
    do update set job_id = excluded.job_id where excluded.job_id < queue_heads.job_id;`;
/** Whether a row of `jobs` is of the same kind as `old`. */
const isKind = kindOfJob("jobs.")
  .map((part, index) => `${part} = ${kindOfJob("old.")[index]}`)
  .join(" and ");

const refreshFree = `update queue_heads set is_free = queue_head_is_free(spec_id, target_worker)`;

const count = (column: string, owner: string, bytes: string) => `
  insert into owner_usage (owner_id, ${column}) values (${owner}, ${bytes})
    on conflict (owner_id) do update set ${column} = owner_usage.${column} + excluded.${column};`;

const trigger = (
  name: string,
  when: string,
  table: string,
  condition: string,
  called = name,
) => `create trigger ${name} after ${when} on ${table} for each row when (${condition})
  execute function ${called}()`;

const definitionTriggers = (table: string) =>
  (
    [
      ["new", "insert", "new.definition_id is not null"],
      [
        "changed",
        "update of definition_id",
        "new.definition_id is distinct from old.definition_id",
      ],
      ["gone", "delete", "old.definition_id is not null"],
    ] as const
  ).map(([suffix, when, condition]) =>
    trigger(`${table}_definition_${suffix}`, when, table, condition, "definitions_named"),
  );

/** Returns the statements that create the functions and triggers in `schema`. */
export function triggers(schema: string): string[] {
  /**
   * A function of a trigger that maintains rows that are derived from others. It has the rights of
   * the owner of the tables, so that it sees all rows and uses their indexes.
   */
  const keeper = (name: string, work: string) =>
    `create function ${name}() returns trigger language plpgsql
      security definer set search_path = ${schema}, pg_temp as $$ ${work} $$`;
  const keep = (name: string, when: string, table: string, work: string, condition = "true") => [
    keeper(name, `begin ${work} return null; end`),
    trigger(name, when, table, condition),
  ];
  return [
    // Whether neither the configuration nor the worker to tear down is occupied. In PL/pgSQL, which
    // keeps its plans: a function in SQL is planned for each statement that calls it.
    `create function queue_head_is_free(spec text, target text) returns integer language plpgsql stable as $$
    begin
      return cast(
        not exists (select 1 from jobs
          where jobs.spec_id = spec and jobs.worker_id is not null and jobs.released_at is null)
        and not exists (select 1 from state_locks where state_locks.spec_id = spec)
        and not exists (select 1 from jobs
          where jobs.worker_id = target and jobs.worker_id is not null and jobs.released_at is null)
        as integer);
    end $$`,
    ...keep("jobs_queued_new", "insert", "jobs", addHead, isQueued("new.")),
    ...keep(
      "jobs_queued_again",
      `update of ${decidesQueued}`,
      "jobs",
      addHead,
      `${isQueued("new.")} and not (${isQueued("old.")})`,
    ),
    // No other head has the job. A head without a next job was changed before it was deleted.
    keeper(
      "jobs_queue_left",
      `
    declare next_id text;
    begin
      select jobs.id into next_id from jobs
        where ${isQueued("jobs.")} and ${isKind} order by jobs.id limit 1;
      if next_id is null then delete from queue_heads where job_id = old.id;
      else update queue_heads set job_id = next_id where job_id = old.id;
      end if;
      return null;
    end`,
    ),
    trigger(
      "jobs_queue_left",
      `update of ${decidesQueued}`,
      "jobs",
      `${isQueued("old.")} and not (${isQueued("new.")})`,
    ),
    ...keep(
      "jobs_held_new",
      "insert",
      "jobs",
      `${refreshFree} where spec_id = new.spec_id;
    ${refreshFree} where target_worker = new.worker_id and target_worker <> '';`,
      isHeld("new"),
    ),
    // A held job occupies its configuration and its worker: nothing else has to be looked at.
    keeper(
      "jobs_held_change",
      `
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
    end`,
    ),
    // PostgreSQL runs triggers in the order of their names: after jobs_queue_left, when the head of a
    // claimed job is gone.
    trigger(
      "jobs_release_or_hold",
      "update of worker_id, released_at",
      "jobs",
      `${isHeld("new")} <> ${isHeld("old")}`,
      "jobs_held_change",
    ),
    ...keep(
      "state_locks_taken",
      "insert",
      "state_locks",
      `${refreshFree} where spec_id = new.spec_id;`,
    ),
    ...keep(
      "state_locks_released",
      "delete",
      "state_locks",
      `${refreshFree} where spec_id = old.spec_id;`,
    ),
    ...keep(
      "archives_added",
      "insert",
      "archives",
      count("archive_bytes", "new.owner_id", "new.size_bytes"),
    ),
    ...keep(
      "archives_removed",
      "delete",
      "archives",
      count("archive_bytes", "old.owner_id", "-old.size_bytes"),
    ),
    ...keep(
      "state_versions_added",
      "insert",
      "state_versions",
      count(
        "state_bytes",
        "(select owner_id from specs where specs.id = new.spec_id)",
        "new.size_bytes",
      ),
    ),
    ...keep(
      "state_versions_removed",
      "delete",
      "state_versions",
      count(
        "state_bytes",
        "(select coalesce(deleted_owner_id, owner_id) from specs where specs.id = old.spec_id)",
        "-old.size_bytes",
      ),
    ),
    ...keep(
      "log_volumes_removed",
      "delete",
      "log_removals",
      `delete from log_volumes where job_id = old.job_id;`,
    ),
    keeper("users_space", "begin insert into spaces (id) values (new.id); return null; end"),
    `create trigger users_space after insert on users for each row execute function users_space()`,
    keeper(
      "definitions_named",
      `begin
      if tg_op <> 'INSERT' then
        insert into loose_definitions select old.definition_id, 0 where old.definition_id is not null;
      end if;
      if tg_op <> 'DELETE' then
        delete from loose_definitions where id = new.definition_id;
        if not found and new.definition_id is not null then
          raise exception 'the definition % does not exist any more', new.definition_id;
        end if;
      end if;
      return null;
    end`,
    ),
    ...["specs", "variable_sets", "job_snapshots"].flatMap(definitionTriggers),
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
}
