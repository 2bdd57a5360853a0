/** Approvals: deployments that people must approve before a runner may claim them. */
import type { DecideJob } from "../../../protocol/approvals.ts";
import type { CreateJob, Job } from "../../../protocol/jobs.ts";
import { eventTextLimit } from "../../../protocol/notification-events.ts";
import { isDestructive } from "../../domain/approvals.ts";
import { hasEnded, reject, type JobRow } from "../../domain/job.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import {
  findApprovalNeeds,
  findApprovals,
  findAuthorship,
  findReviewable,
  findReviewNeeds,
  saveApproval,
} from "../../store/approvals/approvals.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import { findChange, markChange, markPullRequest } from "../../store/connections/job-changes.ts";
import type { Queries } from "../../store/db.ts";
import { findOwnJob } from "../../store/jobs/jobs.ts";
import { person, recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { changeJob, refreshQueue, writeJobs } from "../job-changes/changes.ts";
import { recordJobEvent } from "../job-changes/job-events.ts";
import { viewJob } from "../jobs/views.ts";
import { findBriefSummary } from "../plans/read-summary.ts";

export async function decideJob(
  context: Context,
  user: UserCaller,
  id: string,
  { decision, comment = null }: DecideJob,
): Promise<Job> {
  const { user_id, email, space_id: owner } = user;
  await writeJobs(context, async (tx, afterCommit) => {
    const job = await tx.first(findOwnJob, { id, owner });
    if (!job) throw notFound("job");
    await checkMayDecide(tx, user, job, decision);
    if (decision === "approve") await checkVoteCount(tx, id, user_id);
    const now = context.now();
    await saveApproval(tx, { job_id: id, user_id, email, decision, comment, decided_at: now });
    const change = await tx.first(markChange, { job: id, now });
    if (change?.pull_request_id) await tx.run(markPullRequest, { id: change.pull_request_id, now });
    const action = `job.${decision}` as const;
    const details = job.plan_job_id === null ? {} : { plan_job_id: job.plan_job_id };
    await recordOwn(tx, user, { action, id, name: job.job_type, details }, now);
    await recordDecision(tx, user, job, { decision, comment }, now);
    if (job.job_type === "PLAN") afterCommit.push((wakeups) => wakeups.notify("job", id));
    else if (decision === "reject") {
      const reason = `rejected by ${email}${comment === null ? "" : `: ${comment}`}`;
      await changeJob(tx, afterCommit, job, reject(job, reason, now), now, { by: person(user) });
    } else {
      await refreshQueue(tx, afterCommit, { id: job.spec_id ?? "", owner_id: owner }, now);
      afterCommit.push((wakeups) => wakeups.notify("job", id));
    }
  });
  return viewJob(context, id);
}

async function recordDecision(
  tx: Queries,
  user: UserCaller,
  job: JobRow,
  { decision, comment }: Pick<DecideJob, "decision"> & { readonly comment: string | null },
  now: number,
): Promise<void> {
  const needs = await tx.first(job.job_type === "PLAN" ? findReviewNeeds : findApprovalNeeds, {
    job: job.id,
  });
  const data = {
    missing: Math.max(0, needs?.missing ?? 0),
    ...(comment === null ? {} : { comment: comment.slice(0, eventTextLimit) }),
  };
  const type = decision === "approve" ? "approval.given" : "approval.refused";
  await recordJobEvent(tx, now, type, job, { by: person(user), data });
}

/**
 * People whose decision about one job is kept. Every change of a rule or a role counts those about
 * all waiting jobs again, in one statement.
 */
export const votesLimit = 100;

async function checkVoteCount(tx: Queries, job: string, user: string): Promise<void> {
  const votes = (await tx.all(findApprovals, { job })).filter(({ job_id }) => job_id === job);
  if (votes.length < votesLimit || votes.some(({ user_id }) => user_id === user)) return;
  throw new RefusalError(
    "quota_exceeded",
    `${votesLimit} people have decided about the job, which is the limit: create it again if their approvals do not count any longer`,
  );
}

/** Refuses a decision that would have no effect, or that its rule does not permit. */
export async function checkMayDecide(
  tx: Queries,
  { user_id: user }: UserCaller,
  job: JobRow,
  decision: DecideJob["decision"],
): Promise<void> {
  const isReview =
    job.job_type === "PLAN" && job.status === "SUCCESS" && (await isPlanOfPull(tx, job));
  if (isReview && !(await tx.first(findReviewable, { job: job.id })))
    throw new RefusalError(
      "plan_is_stale",
      "the pull request is closed, or has a newer commit or plan: decide about that one",
    );
  if (!isReview && hasEnded(job))
    throw new RefusalError("job_ended", `the job is already ${job.status}`);
  if (!isReview && job.started_at !== null)
    throw new RefusalError("job_started", "the job has started: cancel it to stop it");
  const needs = await tx.first(isReview ? findReviewNeeds : findApprovalNeeds, { job: job.id });
  if (!needs)
    throw new RefusalError(
      "approval_not_needed",
      "no approval rule of its configuration covers this job",
    );
  if (needs.approval_by_author === 0 && (await tx.first(findAuthorship, { job: job.id, user })))
    throw new RefusalError(
      "approver_is_author",
      "You created this deployment or its plan, so someone else must decide. You can cancel it.",
    );
  if (decision === "approve" && needs.plan_job_id === null)
    throw new RefusalError(
      "plan_required",
      "the job has no plan to approve: cancel it, and deploy a plan",
    );
}

const isPlanOfPull = async (tx: Queries, { id }: JobRow): Promise<boolean> => {
  const change = await tx.first(findChange, { job: id });
  return typeof change?.pull_request_id === "string";
};

/** Refuses a job without a plan that would change a configuration which has an approval rule. */
export function requirePlan(spec: SpecRow | null, { job_type, plan_job_id }: CreateJob): void {
  if (!spec || spec.approval_when === null || job_type === "PLAN" || plan_job_id) return;
  const isDestruction = job_type !== "DEPLOY";
  throw new RefusalError(
    "plan_required",
    `the configuration "${spec.name}" requires approvals: create a PLAN${isDestruction ? " with destroy" : ""}, then DEPLOY that plan`,
  );
}

/** Returns 1 unless the plan that a request names is known to delete and replace nothing. */
export async function findDestructive(
  tx: Queries,
  { job_type, plan_job_id }: CreateJob,
): Promise<0 | 1> {
  if (job_type === "PLAN") return 0;
  if (!plan_job_id) return 1;
  return isDestructive(await findBriefSummary(tx, plan_job_id)) ? 1 : 0;
}
