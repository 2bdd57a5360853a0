import { sql, type Kysely, type RawBuilder } from "kysely";
import type { JobRow } from "../../domain/job.ts";
import { isPostgres } from "../dialect.ts";
import { statement } from "../statement.ts";
import type { Tables } from "../tables.ts";

/** Counts as JSON. `coalesce` would keep PostgreSQL from the index under row security. */
export const changesOfJob = sql<string | null>`(
  select json_extract(plan_summary, '$.counts') from plan_summaries indexed by plan_summaries_counts
  where plan_summaries.job_id = case when jobs.plan_job_id is null then jobs.id else jobs.plan_job_id end)`;

const columns = [
  "id",
  "spec_id",
  "worker_id",
  "job_type",
  "destroys",
  "status",
  "failed_checks",
  "created_by",
  "created_at",
  "started_at",
  "ended_at",
] as const;

export type RunRow = Pick<JobRow, (typeof columns)[number]> & { readonly changes: string | null };

/** The newest jobs of each of some configurations, newest first. */
export const findRuns = statement<{ specs: string; limit: number }, RunRow>(
  (db, { specs, limit }) =>
    newestOfEach(db, "jobs_spec", specs, sql`spec_id = wanted.value`, limit),
);

/** Those of each of some workers that belong to an owner: a cloud-hosted one has jobs of all. */
export const findRunsOfWorkers = statement<
  { workers: string; owner: string; limit: number },
  RunRow
>((db, { workers, owner, limit }) =>
  newestOfEach(
    db,
    "jobs_worker",
    workers,
    sql`worker_id = wanted.value and owner_id = ${owner}`,
    limit,
  ),
);

/** `ids` is JSON. No lateral join: SQLite has none, PostgreSQL would compare ids with all jobs. */
function newestOfEach(
  db: Kysely<Tables>,
  index: "jobs_spec" | "jobs_worker",
  ids: string,
  range: RawBuilder<unknown>,
  limit: number,
) {
  const shown = sql`${sql.join(columns.map((column) => sql.ref(`jobs.${column}`)))}, ${changesOfJob} as changes`;
  const query = isPostgres(db)
    ? sql<RunRow>`select runs.* from json_each(${ids}) as wanted cross join lateral
        (select ${shown} from jobs where ${range} order by id desc limit ${limit}) as runs
      order by runs.id desc`
    : sql<RunRow>`select ${shown} from json_each(${ids}) as wanted cross join jobs on jobs.id in
        (select id from jobs indexed by ${sql.raw(index)} where ${range} order by id desc limit ${limit})
      order by jobs.id desc`;
  return { compile: () => query.compile(db) };
}

export const findPlanCounts = statement<{ job: string }, { counts: string | null }>(
  (db, { job }) => {
    const query = sql`select json_extract(plan_summary, '$.counts') as counts
    from plan_summaries indexed by plan_summaries_counts where job_id = ${job}`;
    return { compile: () => query.compile(db) };
  },
);
