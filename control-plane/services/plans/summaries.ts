/** Plan summaries: reported by the runner with the end of its job, read by the job's owner. */
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import type { Answer } from "../../../protocol/endpoint.ts";
import type { endpoints } from "../../../protocol/endpoints.ts";
import type { UserCaller } from "../callers.ts";
import { notFound } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findOwnJob } from "../../store/jobs/jobs.ts";
import { findPlanSummary, savePlanSummary } from "../../store/plans/summaries.ts";
import type { Context } from "../context.ts";

/** Stores the summary that a runner reports. */
export const keepPlanSummary = (tx: Queries, job: string, summary: PlanSummary): Promise<void> =>
  savePlanSummary(tx, job, JSON.stringify(summary));

/**
 * GET /api/cli/jobs/{id}/plan. For a DEPLOY, returns the summary of the plan that it names; null if
 * no runner has reported one.
 */
export async function getPlanSummary(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  id: string,
): Promise<Answer<typeof endpoints.getPlanSummary>> {
  const job = await read.first(findOwnJob, { id, owner });
  if (!job) throw notFound("job");
  const plan = job.plan_job_id ?? job.id;
  const found = await read.first(findPlanSummary, { job: plan });
  return {
    job_id: job.id,
    plan_job_id: plan,
    plan_summary: found ? (JSON.parse(found.plan_summary) as PlanSummary) : null,
  };
}
