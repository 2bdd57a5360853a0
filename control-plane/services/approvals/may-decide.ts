/** What the reader of a waiting deployment can decide, and what they should know before. */
import type { ApprovalDecision } from "../../../protocol/approvals.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { checkPermission } from "../../domain/roles.ts";
import { findOwnJob } from "../../store/jobs/jobs.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { checkMayDecide } from "./approvals.ts";

export interface MayDecide {
  /** Why the caller may not decide so; null: they may. */
  readonly refusals: Readonly<Record<ApprovalDecision, RefusalError | null>>;
  readonly hasApproved: boolean;
}

/** Returns null unless the job is queued and an approval rule covers it. */
export async function findMayDecide(
  context: Context,
  caller: UserCaller,
  { id, approval_need, approvals = [] }: Job,
): Promise<MayDecide | null> {
  const { read } = context.store;
  const row = approval_need ? await read.first(findOwnJob, { id, owner: caller.space_id }) : null;
  if (!row) return null;
  const refusalOf = async (decision: ApprovalDecision): Promise<RefusalError | null> => {
    try {
      checkPermission(caller, "approve");
      await checkMayDecide(read, caller, row, decision);
      return null;
    } catch (error) {
      if (error instanceof RefusalError) return error;
      throw error;
    }
  };
  const [approve, reject] = await Promise.all([refusalOf("approve"), refusalOf("reject")]);
  const hasApproved = approvals.some(
    ({ user_id, decision }) => user_id === caller.user_id && decision === "approve",
  );
  return { refusals: { approve, reject }, hasApproved };
}
