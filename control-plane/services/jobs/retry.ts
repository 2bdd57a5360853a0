import type { Job } from "../../../protocol/jobs.ts";
import { isDeployable, isSameRequest, retriedAs } from "../../../protocol/retries.ts";
import type { Change } from "../../../protocol/follow.ts";
import type { FollowSettings } from "../../domain/follow.ts";
import { findChange } from "../../store/connections/job-changes.ts";
import { findFollow } from "../../store/connections/follows.ts";
import type { JobOrigin } from "./creator.ts";
import type { UserCaller } from "../callers.ts";
import { hasDebug, type JobRow } from "../../domain/job.ts";
import type { StoredSnapshot } from "../../domain/snapshot-values.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { findOwnJob, findSnapshot } from "../../store/jobs/jobs.ts";
import type { Context } from "../context.ts";
import { getPlanSummary } from "../plans/summaries.ts";
import { findConfigurationId, viewJob, type JobSummary } from "./views.ts";
import { createJob, listJobSummaries } from "./jobs.ts";
import { hasApplied } from "../logs/progress.ts";
import { findDeployedOf } from "../job-changes/deployed-source.ts";
import { checkJobPermission, findOwnFiles } from "../job-changes/own-source.ts";
import { findPlanOptions } from "./plan-options.ts";
import { shortOf } from "../definitions.ts";

/**
 * POST /api/cli/jobs/{id}/retry. Creates a new job with the same request, checked like a new one.
 * It runs the configuration with its present values. A plan is applied only once, so a DEPLOY of a
 * plan is planned again.
 */
export async function retryJob(context: Context, user: UserCaller, id: string): Promise<Job> {
  const job = await context.store.read.first(findOwnJob, { id, owner: user.space_id });
  if (!job) throw notFound("job");
  await checkJobPermission(context.store.read, user, job);
  if (job.status !== "FAILED" && job.status !== "CANCELLED")
    throw new RefusalError("job_not_retryable", `the job is ${job.status}`);
  const job_type = isDeployOfPlan(job) ? "PLAN" : job.job_type;
  const isPlan = job_type === "PLAN";
  const files = isPlan ? await findOwnFiles(context.store.read, id) : undefined;
  const options = isPlan ? await findPlanOptions(context.store.read, id) : undefined;
  const isTeardown = job.job_type === "DESTROY_WORKER";
  const configuration = await findConfigurationId(context.store.read, job.spec_id);
  if (!isTeardown && configuration === null)
    throw new RefusalError("job_not_retryable", "the job's configuration was deleted");
  const request = {
    job_type,
    ...(isTeardown || configuration === null ? {} : { configuration_id: configuration }),
    assigned_worker_id: job.assigned_worker_id,
    ...files,
    ...options,
    ...(isPlan && (await findDeployedOf(context.store.read, id)) ? { deployed: true } : {}),
    labels: JSON.parse(job.labels) as string[],
    debug: hasDebug(job),
  };
  const resumesTeardown = isTeardown && (await mayBeDestroyed(context, id));
  const origin = isPlan ? await findOrigin(context, job) : undefined;
  return createJob(context, user, request, { of: id, resumesTeardown }, origin);
}

/** A repeated PLAN is of the same commit, with what its configuration gives to pull requests now. */
async function findOrigin(
  { store: { read } }: Context,
  { id, spec_id }: JobRow,
): Promise<JobOrigin | undefined> {
  const found = await read.first(findChange, { job: id });
  if (!found) return undefined;
  const { connection_id, pull_request_id, merged_request_id } = found;
  const change = JSON.parse(found.change) as Change;
  const follow = await read.first(findFollow, { spec: spec_id ?? "" });
  const { values } = follow
    ? (JSON.parse(follow.settings) as FollowSettings)
    : ({ values: "none" } as const);
  const isPullRequest = change.base_commit !== undefined || pull_request_id !== null;
  return {
    connection_id,
    pull_request_id,
    merged_request_id,
    change,
    isPullRequest,
    values: isPullRequest ? values : "all",
  };
}

/** Whether this attempt of a teardown, or one before it, may have destroyed some of its targets. */
async function mayBeDestroyed(context: Context, id: string): Promise<boolean> {
  const stored = await context.store.read.first(findSnapshot, { id });
  const { resumes_teardown } = stored ? shortOf<StoredSnapshot>(stored.config_snapshot) : {};
  return resumes_teardown === true || hasApplied(context, id);
}

const isDeployOfPlan = ({ job_type, plan_job_id }: JobRow): boolean =>
  job_type === "DEPLOY" && plan_job_id !== null;

/** How many of the newest jobs are searched for a retry. */
const searchedForRetry = 20;

/**
 * Returns a job with the same request that was queued after this one, which has failed or was
 * cancelled, if it is open or its plan can still be deployed: a second retry then repeats nothing. The
 * caller has checked access to the job.
 */
export async function findRetry(
  context: Context,
  user: UserCaller,
  before: Job,
): Promise<Job | null> {
  const { configuration_id: configuration, created_at, status } = before;
  const isOver = status === "FAILED" || status === "CANCELLED";
  if (!isOver || configuration === null) return null;
  const filter = { configuration, type: retriedAs(before), limit: searchedForRetry };
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
