/** Whether the plan of a deployment is still one of what is there now. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Job } from "../../../protocol/jobs.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { UnreadableError } from "../../domain/secret-box.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import { findSpec } from "../../store/configurations/configurations.ts";
import { listUnapproved } from "../../store/approvals/waiting.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../jobs/changes.ts";
import { failUnstarted } from "../jobs/outcomes.ts";
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
  deployment: Deployment,
  known?: KnownHashes,
): Promise<string | undefined> {
  try {
    await checkPlan(context, tx, deployment, known);
    return undefined;
  } catch (error) {
    if (error instanceof RefusalError || error instanceof UnreadableError) return error.message;
    throw error;
  }
}

type Deployment = Pick<ClaimRow, "id" | "plan_job_id" | "has_approval_rule">;

/** Throws `RefusalError` if the plan is stale, `UnreadableError` if that cannot be known. */
async function checkPlan(
  context: Context,
  tx: Queries,
  { id, plan_job_id, has_approval_rule }: Deployment,
  known: KnownHashes = new Map(),
): Promise<void> {
  if (plan_job_id === null) return;
  const plan = await tx.first(findJob, { id: plan_job_id });
  if (!plan) throw new RefusalError("plan_is_stale", "The plan no longer exists, so plan again");
  await checkFresh(tx, plan);
  if (has_approval_rule === 0) return;
  const spec = await tx.first(findSpec, { id: plan.spec_id ?? "", owner: plan.owner_id });
  if (!spec) throw new RefusalError("plan_is_stale", "The configuration no longer exists");
  checkHash(plan, await findHash(context, tx, spec, await findOwnFiles(tx, id), known));
}

/** Deployments that one round reads at a time. */
const pageSize = 200;

/**
 * Ends deployments that wait for approvals and whose plan is stale: no approval is accepted any more, and who
 * waits for them would wait for ever. Returns how many. What is approved ends at its claim.
 */
export async function endStale(context: Context, stop?: AbortSignal): Promise<number> {
  const { read } = context.store;
  const known: KnownHashes = new Map();
  let ended = 0;
  let after = "";
  while (!stop?.aborted) {
    const page = await read.all(listUnapproved, { after, limit: pageSize });
    for (const { id, plan_job_id } of page) {
      after = id;
      await nextTurn();
      const deployment = { id, plan_job_id, has_approval_rule: 1 } as const;
      if ((await findEnd(context, read, deployment, known)) === undefined) continue;
      await writeJobs(context, async (tx, rings) => {
        const job = await tx.first(findJob, { id });
        if (job?.status !== "QUEUED" || job.unapproved === 0) return;
        const reason = await findEnd(context, tx, deployment);
        if (reason === undefined) return;
        await failUnstarted(tx, rings, { id, reason }, context.now());
        ended += 1;
      });
    }
    if (page.length < pageSize) break;
  }
  return ended;
}

/** Why a deployment ends; with another WINDLASS_SECRET_KEY its plan may still be good. */
async function findEnd(
  context: Context,
  queries: Queries,
  deployment: Deployment,
  known?: KnownHashes,
): Promise<string | undefined> {
  try {
    await checkPlan(context, queries, deployment, known);
    return undefined;
  } catch (error) {
    if (error instanceof RefusalError) return error.message;
    if (error instanceof UnreadableError) return undefined;
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
