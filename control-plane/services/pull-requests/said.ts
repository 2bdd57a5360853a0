/** What a host is told of a job. */
import type { PlanCounts } from "../../../protocol/plan-counts.ts";
import { reviewedLines } from "../../../protocol/reviewed-words.ts";
import { changesResources, changesText, failedChecksWords } from "../../../protocol/words.ts";
import type { Status } from "../../code-hosts/code-host.ts";
import type { PostedJob } from "../../store/connections/posting.ts";
import { findJobsOfPushes } from "../../store/connections/polls.ts";
import type { Queries } from "../../store/db.ts";
import { findReview, withDifferences } from "../approvals/review.ts";
import { findApprovalNeed } from "../approvals/views.ts";

export interface Said extends PostedJob, Pick<Status, "state" | "description"> {
  /** How the plan after a merge differs from the reviewed one. Reads both, for the comment only. */
  differences(): Promise<readonly string[]>;
}

export async function saidOf(read: Queries, job: PostedJob): Promise<Said> {
  const plan = { ...job, job_id: job.plan_job_id ?? job.job_id };
  const review = await findReview(read, plan);
  const notes = [
    ...(review?.equal === false ? ["differs from the reviewed plan"] : []),
    ...(await approvalNote(read, job)),
    ...(await overtakenNote(read, job)),
  ];
  const { state, description } = statusOf(job);
  const isWaiting = job.status === "QUEUED" && notes.length > 0;
  const said = isWaiting ? notes : [description, ...notes];
  const differences = async () =>
    review ? reviewedLines(await withDifferences(read, plan.job_id, review)) : [];
  return { ...job, state, description: said.join(", "), differences };
}

async function approvalNote(read: Queries, job: PostedJob): Promise<string[]> {
  const isPlan = job.job_type === "PLAN";
  if (isPlan && !hasChanges(job.counts)) return [];
  const need = await findApprovalNeed(read, { ...job, id: job.job_id });
  if (!need) return [];
  const { missing } = need;
  if (missing > 0) return [`needs ${missing} approval${missing === 1 ? "" : "s"}`];
  return isPlan ? ["approved"] : [];
}

/** How many of the newest jobs of pushes are looked at. */
const recentJobs = 20;

/** The base has moved: only the plan after the merge says what that means. */
async function overtakenNote(
  read: Queries,
  { job_type, status, spec_id: spec, merged_request_id, commit_id, started_at }: PostedJob,
): Promise<string[]> {
  if (job_type !== "PLAN" || status !== "SUCCESS" || spec === null || merged_request_id !== null)
    return [];
  const pushes = await read.all(findJobsOfPushes, { spec, limit: recentJobs });
  const deployed = pushes.find((one) => one.job_type === "DEPLOY" && one.status === "SUCCESS");
  return deployed &&
    deployed.commit_id !== commit_id &&
    (deployed.ended_at ?? 0) > (started_at ?? 0)
    ? [`planned before ${deployed.commit_id.slice(0, 12)} was deployed`]
    : [];
}

function statusOf(job: PostedJob): Pick<Status, "state" | "description"> {
  const isPlan = job.job_type === "PLAN";
  switch (job.status) {
    case "QUEUED":
      return { state: "pending", description: "waits for a runner" };
    case "PROCESSING":
      return { state: "pending", description: isPlan ? "planning" : "deploying" };
    case "SUCCESS": {
      const counts = job.counts === null ? "" : changesText(JSON.parse(job.counts) as PlanCounts);
      const done = isPlan ? counts : `deployed ${counts}`;
      return { state: "success", description: [done, ...failedChecksWords(job)].join(", ") };
    }
    case "FAILED":
      return { state: "failure", description: firstLine(job.error_message) ?? "failed" };
    case "CANCELLED":
      return { state: "failure", description: "cancelled" };
  }
}

const firstLine = (text: string | null): string | undefined => text?.split("\n", 1)[0] || undefined;

export function hasChanges(counts: string | null): boolean {
  if (counts === null) return true;
  const read = JSON.parse(counts) as PlanCounts;
  return changesResources(read) || read.only !== undefined;
}
