/** SQL of the last runs of configurations, as a strip of them shows. */
import { sql } from "kysely";
import type { JobRow } from "../../domain/job.ts";
import { isPostgres } from "../dialect.ts";
import { statement } from "../statement.ts";

/**
 * The counts of the plan that a job made or applies, as JSON. Not `coalesce`, which would keep
 * PostgreSQL from using the index where row security applies.
 */
export const changesOfJob = sql<string | null>`(
  select json_extract(plan_summary, '$.counts') from plan_summaries indexed by plan_summaries_counts
  where plan_summaries.job_id = case when jobs.plan_job_id is null then jobs.id else jobs.plan_job_id end)`;

const columns = [
  "id",
  "spec_id",
  "job_type",
  "destroys",
  "status",
  "created_by",
  "created_at",
  "started_at",
  "ended_at",
] as const;

export type RunRow = Pick<JobRow, (typeof columns)[number]> & { readonly changes: string | null };

/**
 * The newest jobs of each of some configurations, newest first. SQLite has no lateral join, and
 * PostgreSQL would compare each of the configurations with each job.
 */
export const findRuns = statement<{ specs: string; limit: number }, RunRow>(
  (db, { specs, limit }) => {
    const shown = sql`${sql.join(columns.map((column) => sql.ref(`jobs.${column}`)))}, ${changesOfJob} as changes`;
    const query = isPostgres(db)
      ? sql`select runs.* from json_each(${specs}) as wanted cross join lateral
          (select ${shown} from jobs where spec_id = wanted.value order by id desc limit ${limit}) as runs
        order by runs.id desc`
      : sql`select ${shown} from json_each(${specs}) as wanted cross join jobs on jobs.id in
          (select id from jobs indexed by jobs_spec where spec_id = wanted.value order by id desc limit ${limit})
        order by jobs.id desc`;
    return { compile: () => query.compile(db) };
  },
);

export const findPlanCounts = statement<{ job: string }, { counts: string | null }>(
  (db, { job }) => {
    const query = sql`select json_extract(plan_summary, '$.counts') as counts
    from plan_summaries indexed by plan_summaries_counts where job_id = ${job}`;
    return { compile: () => query.compile(db) };
  },
);
