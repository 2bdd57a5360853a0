/** Whether the plan after a merge is the one that was reviewed in the pull request. */
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import type { ReviewedPlan } from "../../../protocol/reviewed-plan.ts";
import { planDifferences } from "../../domain/plan-differences.ts";
import { findApprovals, findReviewable } from "../../store/approvals/approvals.ts";
import { findReviewedPlan, type JobChangeRow } from "../../store/connections/job-changes.ts";
import type { Queries } from "../../store/db.ts";
import { findBriefSummary, readPlanSummary } from "../plans/read-summary.ts";

export type Review = Omit<ReviewedPlan, "differences" | "differences_omitted">;

export type PlannedChange = Pick<
  JobChangeRow,
  "job_id" | "spec_id" | "merged_request_id" | "settings_hash"
>;

/**
 * Compares a plan after a merge with the one that was reviewed: the newest of the request's head.
 * Undefined: none was reviewed, or it is not planned yet.
 */
export async function findReview(
  queries: Queries,
  plan: PlannedChange,
): Promise<Review | undefined> {
  const { merged_request_id: pull, spec_id: spec } = plan;
  if (pull === null || spec === null) return undefined;
  const reviewed = await queries.first(findReviewedPlan, { pull, spec });
  const then = reviewed && (await findBriefSummary(queries, reviewed.job_id));
  const now = await findBriefSummary(queries, plan.job_id);
  if (!then || !now) return undefined;
  const equal = isKnownEqual(then.digest, now.digest);
  const isRejected = await wasRejected(queries, reviewed.job_id);
  const refusal = !equal
    ? "it is another plan"
    : reviewed.withheld !== "[]"
      ? "values were withheld from the plan of the pull request"
      : isRejected
        ? "the plan of the pull request was rejected"
        : reviewed.settings_hash !== plan.settings_hash
          ? "the settings of the configuration were changed between the two plans"
          : !isKnownEqual(then.source_digest, now.source_digest) && !(isFixed(then) && isFixed(now))
            ? "the code is another one, and the plan has unknown values or provisioners"
            : null;
  return { job_id: reviewed.job_id, equal, approvals_refused: refusal };
}

/** Whether a person's last decision is to reject it. */
async function wasRejected(queries: Queries, job: string): Promise<boolean> {
  const votes = await queries.all(findApprovals, { job });
  return votes.some(({ decision }) => decision === "reject");
}

/** The plan whose approvals count for the DEPLOY of a plan too; null: none. */
export async function findApprovedPlan(
  queries: Queries,
  plan: JobChangeRow,
  review: Review | undefined,
): Promise<string | null> {
  if (plan.pull_request_id === null)
    return review?.approvals_refused === null ? review.job_id : null;
  // Deployed before the merge.
  const job = plan.job_id;
  const isOpen = (await queries.first(findReviewable, { job })) !== undefined;
  return isOpen && !(await wasRejected(queries, job)) ? job : null;
}

const isKnownEqual = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && one === other;

/** Whether all that the plan does is in its digest. */
const isFixed = ({ has_unknown, has_provisioners }: PlanSummary): boolean =>
  has_unknown === false && has_provisioners === false;

/** The attributes of larger plans are not compared. */
const attributesLimit = 256 * 1024;

export async function withDifferences(
  read: Queries,
  plan: string,
  review: Review,
): Promise<ReviewedPlan> {
  const none = { ...review, differences: [], differences_omitted: 0 };
  if (review.equal) return none;
  const [then, now] = await Promise.all(
    [review.job_id, plan].map((job) => readPlanSummary(read, job, attributesLimit)),
  );
  return then && now ? { ...review, ...planDifferences(then, now) } : none;
}
