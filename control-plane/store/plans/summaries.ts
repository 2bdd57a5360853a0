import type { Queries } from "../db.ts";
import { jobsBy } from "../indexed.ts";
import { statement } from "../statement.ts";

export const findPlanSummary = statement<{ job: string }, { plan_summary: string }>((db, { job }) =>
  db.selectFrom("plan_summaries").select("plan_summary").where("job_id", "=", job),
);

/** Of the newest PLAN of a configuration that has one, of its last jobs. */
export const findNewestPlanSummary = statement<{ spec: string }, { plan_summary: string }>(
  (db, { spec }) =>
    db
      .selectFrom((jobs) =>
        jobs
          .selectFrom(jobsBy("jobs_spec"))
          .select("id")
          .where("spec_id", "=", spec)
          .orderBy("id", "desc")
          .limit(50)
          .as("recent"),
      )
      .innerJoin("plan_summaries", "plan_summaries.job_id", "recent.id")
      .select("plan_summary")
      .orderBy("recent.id", "desc")
      .limit(1),
);

export const findPlanAttributes = statement<{ job: string }, { attributes: string }>(
  (db, { job }) => db.selectFrom("plan_attributes").select("attributes").where("job_id", "=", job),
);

/** Stores the summary of a job in place of an earlier one. */
export async function savePlanSummary(
  { sql: db }: Queries,
  job_id: string,
  { plan_summary, attributes }: { plan_summary: string; attributes: string | null },
): Promise<void> {
  await db
    .insertInto("plan_summaries")
    .values({ job_id, plan_summary })
    .onConflict((conflict) => conflict.column("job_id").doUpdateSet({ plan_summary }))
    .execute();
  await db.deleteFrom("plan_attributes").where("job_id", "=", job_id).execute();
  if (attributes !== null)
    await db.insertInto("plan_attributes").values({ job_id, attributes }).execute();
}

/** Removes the attributes of these jobs' plans; the summaries stay. */
export async function deletePlanAttributes(
  { sql: db }: Queries,
  jobs: readonly string[],
): Promise<void> {
  await db.deleteFrom("plan_attributes").where("job_id", "in", jobs).execute();
}
