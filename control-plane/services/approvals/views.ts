import type { Approval, ApprovalNeed, ApprovalRule } from "../../../protocol/approvals.ts";
import { approversShown } from "../../../protocol/limits.ts";
import { approvalReason, approvalRule } from "../../domain/approvals.ts";
import type { JobRow } from "../../domain/job.ts";
import { time } from "../../domain/moments.ts";
import {
  findApprovalNeeds,
  findApprovals,
  findApprovers,
  findAuthorsAtHost,
  findReviewable,
  findReviewNeeds,
  type ApprovalNeeds,
} from "../../store/approvals/approvals.ts";
import { findSpec } from "../../store/configurations/configurations.ts";
import { asSystem } from "../../store/spaces.ts";
import type { Queries } from "../../store/db.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

export async function viewApprovals(queries: Queries, job: string): Promise<Approval[]> {
  const rows = await queries.all(findApprovals, { job });
  // A person may have decided about the plan of the pull request and about its deployment.
  const last = [...new Map(rows.map((row) => [row.user_id, row])).values()];
  return last.map(({ user_id, email, decision, comment, decided_at }) => ({
    user_id,
    email,
    decision,
    comment,
    at: time(decided_at),
  }));
}

export async function findApprovalReason(
  queries: Queries,
  { id, unapproved }: Pick<JobRow, "id" | "unapproved">,
): Promise<string | null> {
  const needs = unapproved === 1 ? await findNeeds(queries, id) : undefined;
  if (!needs) return null;
  const { missing, plan_job_id } = needs;
  return approvalReason({ missing, hasPlan: plan_job_id !== null, authors: authorsOf(needs) });
}

/**
 * Returns what a job needs; null unless people must approve it and it is queued, or is the PLAN of an
 * open pull request.
 */
export async function findApprovalNeed(
  queries: Queries,
  {
    id,
    owner_id: owner,
    status,
    job_type,
  }: Pick<JobRow, "id" | "owner_id" | "status" | "job_type">,
): Promise<ApprovalNeed | null> {
  const isPlan = job_type === "PLAN";
  if (status !== (isPlan ? "SUCCESS" : "QUEUED")) return null;
  if (isPlan && !(await queries.first(findReviewable, { job: id }))) return null;
  const needs = await findNeeds(queries, id, isPlan);
  const rule = needs && approvalRule(needs);
  if (!rule) return null;
  const missing = Math.max(0, needs.missing);
  const limit = approversShown + 1;
  const isApprovable = missing > 0 && needs.plan_job_id !== null;
  const found = isApprovable
    ? await asSystem(() => queries.all(findApprovers, { job: id, owner, limit }))
    : [];
  const approvers = found.map(({ email }) => email).slice(0, approversShown);
  const more_approvers = found.length > approversShown;
  const { role_arn } = needs;
  return { rule, missing, authors: authorsOf(needs), approvers, more_approvers, role_arn };
}

/** As the system, because an author may have left the team. */
const findNeeds = (queries: Queries, job: string, isPlan = false): Promise<Needs | undefined> =>
  asSystem(async () => {
    const needs = await queries.first(isPlan ? findReviewNeeds : findApprovalNeeds, { job });
    if (!needs) return undefined;
    const isListed = needs.approval_by_author === 0;
    const atHost = isListed ? await queries.all(findAuthorsAtHost, { job }) : [];
    return { ...needs, atHost: atHost.map(({ email }) => email) };
  });

type Needs = ApprovalNeeds & { readonly atHost: readonly string[] };

/** The addresses of the authors whose own approval does not count. */
const authorsOf = ({ approval_by_author, creator, planner, atHost }: Needs): string[] => {
  if (approval_by_author === 1) return [];
  return [...new Set([creator, planner, ...atHost].filter((email) => email !== null))];
};

export async function findRule(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  configuration: string | null,
): Promise<ApprovalRule | null> {
  if (configuration === null) return null;
  const spec = await read.first(findSpec, { id: configuration, owner });
  return spec ? approvalRule(spec) : null;
}
