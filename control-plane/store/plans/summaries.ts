import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";

export const findPlanSummary = statement<{ job: string }, { plan_summary: string }>((db, { job }) =>
  db.selectFrom("plan_summaries").select("plan_summary").where("job_id", "=", job),
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
