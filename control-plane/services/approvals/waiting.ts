import type { ApprovalNeed } from "../../../protocol/approvals.ts";
import type { PlanCounts } from "../../../protocol/plan-counts.ts";
import { listOwnWaiting, listWaitingFor, type WaitingRow } from "../../store/approvals/waiting.ts";
import { findPlanCounts } from "../../store/jobs/runs.ts";
import { spaceOf, type UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { Drafts } from "../large-work.ts";
import { time } from "../../domain/moments.ts";
import { countsOf } from "../jobs/views.ts";
import { findStaleness } from "./staleness.ts";
import { findApprovalNeed } from "./views.ts";

export interface WaitingDeployment {
  readonly id: string;
  readonly configuration: { readonly id: string; readonly name: string };
  /** The slug of the team in whose space it is; null: the caller's personal space. */
  readonly team: string | null;
  readonly created_by: string | null;
  readonly created_at: string;
  readonly destroy: boolean;
  /** Null: its runner has not reported a plan. */
  readonly changes: PlanCounts | null;
  readonly need: ApprovalNeed;
  /** Whether its plan can no longer be applied, so that an approval is of no use. */
  readonly isStale: boolean;
}

export interface WaitingDeployments {
  readonly jobs: readonly WaitingDeployment[];
  readonly hasMore: boolean;
}

/** Returns what the caller may approve and has not, and what they created and others must approve. */
export async function listWaitingDeployments(
  context: Context,
  caller: UserCaller,
  limit: number,
): Promise<{ readonly forCaller: WaitingDeployments; readonly own: WaitingDeployments }> {
  const query = { user: caller.user_id, limit: limit + 1 };
  const known = new Drafts();
  const [forCaller, own] = await Promise.all(
    [listWaitingFor, listOwnWaiting].map(async (list) => {
      const rows = await context.store.read.all(list, query);
      const jobs = await Promise.all(
        rows.slice(0, limit).map((row) => view(context, caller, row, known)),
      );
      return { jobs: jobs.filter((job) => job !== null), hasMore: rows.length > limit };
    }),
  );
  return { forCaller: forCaller!, own: own! };
}

/** Deployments are counted exactly up to here. */
export const waitingLimit = 9;

/** Returns how many deployments the caller may approve and has not; one more than the limit: more. */
export async function countWaitingFor(
  { store }: Context,
  { user_id: user, spaces }: UserCaller,
): Promise<number> {
  // A personal space has no approvals.
  if (spaces.length === 1) return 0;
  return (await store.read.all(listWaitingFor, { user, limit: waitingLimit + 1 })).length;
}

/** Returns null if the job has stopped waiting since it was listed. */
async function view(
  context: Context,
  caller: UserCaller,
  row: WaitingRow,
  known: Drafts,
): Promise<WaitingDeployment | null> {
  const { id, owner_id, spec_id, name, plan_job_id, created_by, created_at, destroys } = row;
  const { read } = context.store;
  const need = await findApprovalNeed(read, row);
  if (!need) return null;
  const staleness = await findStaleness(context, row, known);
  const counts = await read.first(findPlanCounts, { job: plan_job_id ?? id });
  return {
    id,
    configuration: { id: spec_id, name },
    team: spaceOf(caller, owner_id)?.slug ?? null,
    created_by,
    created_at: time(created_at),
    destroy: destroys === 1,
    changes: countsOf(counts?.counts ?? null),
    need,
    isStale: staleness !== undefined,
  };
}
