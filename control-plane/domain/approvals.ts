import type {
  ApprovalDecision,
  ApprovalRule,
  WrittenApprovalRule,
} from "../../protocol/approvals.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";
import { approvalsText, destroyedCount } from "../../protocol/words.ts";

/** The columns of a configuration that keep its rule. */
export interface ApprovalColumns {
  /** Which of its deployments people must approve; null: none. */
  approval_when: ApprovalRule["when"] | null;
  approval_count: number;
  /** 1 if an author of the deployment may be one of them. */
  approval_by_author: number;
}

/** What a person has decided about a deployment; their last decision counts. */
export interface ApprovalRow {
  job_id: string;
  user_id: string;
  email: string;
  decision: ApprovalDecision;
  comment: string | null;
  decided_at: number;
}

export const approvalColumns = (rule: WrittenApprovalRule | null): ApprovalColumns => ({
  approval_when: rule?.when ?? null,
  approval_count: rule?.count ?? 1,
  approval_by_author: rule?.by_author === true ? 1 : 0,
});

export const approvalRule = (columns: ApprovalColumns): ApprovalRule | null =>
  columns.approval_when === null
    ? null
    : {
        when: columns.approval_when,
        count: columns.approval_count,
        by_author: columns.approval_by_author === 1,
      };

export const differs = (a: ApprovalColumns, b: ApprovalColumns): boolean =>
  JSON.stringify(approvalRule(a)) !== JSON.stringify(approvalRule(b));

/** Whether a plan may delete or replace something, as far as its summary tells. */
export const isDestructive = (
  summary: Pick<PlanSummary, "counts" | "truncated" | "changes_omitted"> | undefined,
): boolean =>
  summary === undefined ||
  summary.truncated === true ||
  summary.changes_omitted > 0 ||
  destroyedCount(summary.counts) > 0;

export interface Missing {
  readonly missing: number;
  readonly hasPlan: boolean;
  /** The authors' addresses, if they may not approve. */
  readonly authors: readonly string[];
}

export function approvalReason({ missing, hasPlan, authors }: Missing): string {
  if (!hasPlan)
    return "waits for a plan: the configuration requires approvals, and this job has no plan to approve. Cancel it, and deploy a plan";
  const others = [...new Set(authors)];
  return `waits for ${approvalsText(missing)}${others.length === 0 ? "" : ` other than ${others.join(" and ")}`}`;
}
