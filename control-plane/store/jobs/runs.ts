/** SQL of the last runs of a configuration, as a strip of them shows. */
import { sql } from "kysely";
import type { JobRow } from "../../domain/job.ts";
import { jobsBy } from "../indexed.ts";
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
  "job_type",
  "destroys",
  "status",
  "created_by",
  "created_at",
  "started_at",
  "ended_at",
] as const;

export type RunRow = Pick<JobRow, (typeof columns)[number]> & { readonly changes: string | null };

/** The newest jobs of a configuration. */
export const findRuns = statement<{ spec: string; limit: number }, RunRow>((db, { spec, limit }) =>
  db
    .selectFrom(jobsBy("jobs_spec"))
    .select(columns)
    .select(changesOfJob.as("changes"))
    .where("spec_id", "=", spec)
    .orderBy("id", "desc")
    .limit(limit),
);

/** The counts of one plan. */
export const findPlanCounts = statement<{ job: string }, { counts: string | null }>(
  (db, { job }) => {
    const query = sql`select json_extract(plan_summary, '$.counts') as counts
    from plan_summaries indexed by plan_summaries_counts where job_id = ${job}`;
    return { compile: () => query.compile(db) };
  },
);
