import type { Approval, ApprovalNeed, ApprovalRule } from "../../../protocol/approvals.ts";
import { approversShown } from "../../../protocol/limits.ts";
import { approvalReason, approvalRule } from "../../domain/approvals.ts";
import type { JobRow } from "../../domain/job.ts";
import { time } from "../../domain/moments.ts";
import {
  findApprovalNeeds,
  findApprovals,
  findApprovers,
  type ApprovalNeeds,
} from "../../store/approvals/approvals.ts";
import { findSpec } from "../../store/configurations/configurations.ts";
import { asSystem } from "../../store/spaces.ts";
import type { Queries } from "../../store/db.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

export async function viewApprovals(queries: Queries, job: string): Promise<Approval[]> {
  const rows = await queries.all(findApprovals, { job });
  return rows.map(({ user_id, email, decision, comment, decided_at }) => ({
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

/** Returns what a job needs; null unless it is queued and an approval rule covers it. */
export async function findApprovalNeed(
  queries: Queries,
  {
    id,
    owner_id: owner,
    status,
    job_type,
  }: Pick<JobRow, "id" | "owner_id" | "status" | "job_type">,
): Promise<ApprovalNeed | null> {
  if (status !== "QUEUED" || job_type === "PLAN") return null;
  const needs = await findNeeds(queries, id);
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
const findNeeds = (queries: Queries, job: string): Promise<ApprovalNeeds | undefined> =>
  asSystem(() => queries.first(findApprovalNeeds, { job }));

/** The addresses of the authors whose own approval does not count. */
const authorsOf = ({ approval_by_author, creator, planner }: ApprovalNeeds): string[] => {
  if (approval_by_author === 1) return [];
  return [...new Set([creator, planner].filter((email) => email !== null))];
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
