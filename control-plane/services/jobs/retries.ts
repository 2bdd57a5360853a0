/** Finds what an earlier retry of a job has queued, so that a second one does not do it twice. */
import type { Job } from "../../../protocol/jobs.ts";
import { isDeployable, isSameRequest, retriedAs } from "../../../protocol/retries.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { getPlanSummary } from "../plans/summaries.ts";
import { listJobSummaries } from "./jobs.ts";
import { viewJob, type JobSummary } from "./views.ts";

/** How many of the newest jobs are looked at. */
const looked = 20;

/**
 * Returns the job with the same request that was queued after this one, which failed or was cancelled,
 * if it is open or its plan can still be deployed. The caller has checked access to the job.
 */
export async function findRetry(
  context: Context,
  user: UserCaller,
  before: Job,
): Promise<Job | null> {
  const { configuration_id: configuration, created_at, status } = before;
  const isOver = status === "FAILED" || status === "CANCELLED";
  if (!isOver || configuration === null) return null;
  const filter = { configuration, type: retriedAs(before), limit: looked };
  const newest = await listJobSummaries(context, user, filter);
  for (const summary of newest) {
    if (summary.created_at <= created_at || !mayCount(summary)) continue;
    const job = await viewJob(context, summary.id, { progress: false });
    if (!isSameRequest(job, before)) continue;
    if (job.status !== "SUCCESS") return job;
    if (isDeployable(await getPlanSummary(context, user, job.id, { mostAttributes: 0 })))
      return job;
  }
  return null;
}

const mayCount = ({ status, job_type }: JobSummary): boolean =>
  status === "QUEUED" || status === "PROCESSING" || (status === "SUCCESS" && job_type === "PLAN");
