/** Approvals in the form for users. */
import type { Approval } from "../../../protocol/approvals.ts";
import { approvalReason } from "../../domain/approvals.ts";
import type { JobRow } from "../../domain/job.ts";
import { findApprovalNeeds, findApprovals } from "../../store/approvals/approvals.ts";
import { asSystem } from "../../store/spaces.ts";
import type { Queries } from "../../store/db.ts";

/** Returns what people have decided about a job. */
export async function viewApprovals(queries: Queries, job: string): Promise<Approval[]> {
  const rows = await queries.all(findApprovals, { job });
  return rows.map(({ user_id, email, decision, comment, decided_at }) => ({
    user_id,
    email,
    decision,
    comment,
    at: new Date(decided_at).toISOString(),
  }));
}

/** Returns whose approvals a job waits for; null if it waits for none. */
export async function findApprovalReason(
  queries: Queries,
  { id, unapproved }: Pick<JobRow, "id" | "unapproved">,
): Promise<string | null> {
  if (unapproved === 0) return null;
  // As the system, because an author may have left the team.
  const needs = await asSystem(() => queries.first(findApprovalNeeds, { job: id }));
  if (!needs) return null;
  const { missing, by_author, plan_job_id, creator, planner } = needs;
  const authors = by_author === 1 ? [] : [creator, planner].filter((email) => email !== null);
  return approvalReason({ missing, hasPlan: plan_job_id !== null, authors });
}
