/** Whether the plan of a claimed deployment is still one of what is there now. */
import type { Job } from "../../../protocol/jobs.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { UnreadableError } from "../../domain/secret-box.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import { findSpec } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import type { Context } from "../context.ts";
import { findOwnFiles } from "../jobs/own-source.ts";
import { findHash, type KnownHashes } from "../jobs/request.ts";
import { checkFresh, checkHash } from "../plans/deployable.ts";

/**
 * Returns why a DEPLOY may not run if it is claimed now; undefined if it may. Terraform refuses a
 * plan of another state, without the reason. Approvals are for a plan of what the configuration was
 * then: if it has changed, people approved something else.
 */
export async function findStaleness(
  context: Context,
  tx: Queries,
  {
    id,
    plan_job_id,
    has_approval_rule,
  }: Pick<ClaimRow, "id" | "plan_job_id" | "has_approval_rule">,
  known: KnownHashes = new Map(),
): Promise<string | undefined> {
  if (plan_job_id === null) return undefined;
  const plan = await tx.first(findJob, { id: plan_job_id });
  if (!plan) return "The plan no longer exists, so plan again";
  try {
    await checkFresh(tx, plan);
    if (has_approval_rule === 0) return undefined;
    const spec = await tx.first(findSpec, { id: plan.spec_id ?? "", owner: plan.owner_id });
    if (!spec) return "The configuration no longer exists";
    checkHash(plan, await findHash(context, tx, spec, await findOwnFiles(tx, id), known));
    return undefined;
  } catch (error) {
    if (error instanceof RefusalError || error instanceof UnreadableError) return error.message;
    throw error;
  }
}

/** Adds to a job that an approval rule covers why its plan can no longer be applied. */
export async function withStaleness(context: Context, job: Job, known?: KnownHashes): Promise<Job> {
  const { id, plan_job_id, approval_need: need } = job;
  if (!need) return job;
  const about = { id, plan_job_id, has_approval_rule: 1 } as const;
  const staleness = await findStaleness(context, context.store.read, about, known);
  return { ...job, approval_need: { ...need, plan_staleness: staleness ?? null } };
}
