/** SQL of plan summaries. */
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";

/** The summary of the plan that a job made. */
export const findPlanSummary = statement<{ job: string }, { plan_summary: string }>((db, { job }) =>
  db.selectFrom("plan_summaries").select("plan_summary").where("job_id", "=", job),
);

/** Keeps the summary of a job; the last one told counts. */
export async function savePlanSummary(
  { sql: db }: Queries,
  job_id: string,
  plan_summary: string,
): Promise<void> {
  await db
    .insertInto("plan_summaries")
    .values({ job_id, plan_summary })
    .onConflict((conflict) => conflict.column("job_id").doUpdateSet({ plan_summary }))
    .execute();
}
