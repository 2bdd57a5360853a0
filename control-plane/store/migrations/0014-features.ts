/**
 * A job that needs a feature of its runner goes only to a worker that reports it: part of `wanted`,
 * as labels are.
 */
import { sql, type Kysely } from "kysely";
import { headsBy, wantedLabels } from "./0009-scale.ts";

/**
 * Adds the columns, finds out what the jobs that are not over need, and makes the heads of the
 * queue anew.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/**
 * Each feature behind a `+`, with which no label begins: so no label of a person passes for a
 * feature. Names are letters and `_`.
 */
const marks = (row: string) => `replace(replace(${row}features, '["', '["+'), ',"', ',"+')`;
/** The labels, then the features; both are JSON lists without spaces. */
export const wanted = (row: string): string => `(case
  when ${row}features = '[]' then ${wantedLabels(row)}
  when ${wantedLabels(row)} = '[]' then ${marks(row)}
  else substr(${wantedLabels(row)}, 1, length(${wantedLabels(row)}) - 1) || ',' || substr(${marks(row)}, 2) end)`;

const heads = headsBy(wanted);
/** Makes the heads of a queue without any. */
export const fillQueueHeads = heads.fill;

const uses = (feature: string, path: string) =>
  `select '${feature}' as feature where json_extract(config_snapshot, '$.${path}') not in ('[]', '{}', 0)`;

const statements = [
  `alter table jobs add column features text not null default '[]'`,
  `alter table workers add column features text not null default '[]'`,
  `update jobs set features = coalesce((
      select (select json_group_array(feature) from (
        ${["backend_config", "submodules", "var_files"].map((name) => uses(name, name)).join(" union all ")}))
      from job_snapshots where job_snapshots.job_id = jobs.id), '[]')
    where status in ('QUEUED', 'PROCESSING')`,
  `drop trigger jobs_queued_new`,
  `drop trigger jobs_queued_again`,
  `drop trigger jobs_queue_left`,
  `drop index jobs_queued_kind`,
  `delete from queue_heads`,
  heads.fill,
  ...heads.keep,
];
