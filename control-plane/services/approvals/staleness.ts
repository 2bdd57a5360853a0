import { setImmediate as nextTurn } from "node:timers/promises";
import { RefusalError } from "../../domain/refusal.ts";
import { UnreadableError } from "../../domain/secret-box.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import { findSpec, type SpecRow } from "../../store/configurations/configurations.ts";
import { listUnapproved } from "../../store/approvals/waiting.ts";
import type { Queries, Store } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { failUnstarted } from "../job-changes/outcomes.ts";
import { plannedDeployment } from "../job-changes/deployed-source.ts";
import { findOwnFiles } from "../job-changes/own-source.ts";
import { findHash, versionsOf } from "../jobs/request.ts";
import { ChangedMeanwhileError, Drafts, untilUnchanged } from "../large-work.ts";
import { checkFresh, checkHash } from "../plans/deployable.ts";

/** `has_approval_rule`: 0 for a deployment without a rule, as a claim finds it. */
type Deployment = Pick<ClaimRow, "id" | "plan_job_id"> &
  Partial<Pick<ClaimRow, "has_approval_rule">>;

/**
 * Returns why a DEPLOY may not run if it is claimed now; undefined if it may. Terraform refuses a
 * plan of another state, without the reason. Approvals are for a plan of what the configuration was
 * then: if it has changed, people approved something else.
 */
export const findStaleness = (
  context: Context,
  deployment: Deployment,
  known: Drafts,
): Promise<string | undefined> =>
  untilUnchanged(async () => {
    const { read } = context.store;
    return (await findFault(context, read, deployment, known))?.message;
  });

/** Runs in a transaction. Throws ChangedMeanwhileError if the hash is not `known`. */
export async function findStalenessNow(
  context: Context,
  tx: Queries,
  deployment: Deployment,
  known: Drafts,
): Promise<string | undefined> {
  return (await findFault(context, tx, deployment, known.readOnly()))?.message;
}

/** Returns a `RefusalError` if the plan is stale, an `UnreadableError` if it is not known. */
async function findFault(
  context: Context,
  tx: Queries,
  { id, plan_job_id, has_approval_rule = 1 }: Deployment,
  known: Drafts,
): Promise<RefusalError | UnreadableError | undefined> {
  if (plan_job_id === null) return undefined;
  const plan = await tx.first(findJob, { id: plan_job_id });
  if (!plan) return new RefusalError("plan_is_stale", "The plan no longer exists, so plan again");
  try {
    await checkFresh(context, tx, plan);
    if (has_approval_rule === 0) return undefined;
    const spec = await tx.first(findSpec, { id: plan.spec_id ?? "", owner: plan.owner_id });
    if (!spec) return new RefusalError("plan_is_stale", "The configuration no longer exists");
    checkHash(plan, await findHashOf(context, tx, id, spec, known));
    return undefined;
  } catch (error) {
    if (error instanceof RefusalError || error instanceof UnreadableError) return error;
    throw error;
  }
}

/** How many deployments' hashes are remembered: 2 MB. */
const rememberedLimit = 10_000;
/** By store: the hash of what a deployment would run, and of which versions it was made. */
const remembered = new WeakMap<Store, Map<string, { versions: string; hash: string }>>();

/**
 * Returns the hash of a configuration as a deployment would run it. A hash is made again only after
 * a change: 100 waiting deployments of 4 MB took 12 % of a core when each minute made all of them.
 */
async function findHashOf(
  context: Context,
  tx: Queries,
  deployment: string,
  spec: SpecRow,
  known: Drafts,
): Promise<string> {
  const hashes =
    remembered.get(context.store) ?? new Map<string, { versions: string; hash: string }>();
  remembered.set(context.store, hashes);
  const versions = await versionsOf(tx, spec);
  const before = hashes.get(deployment);
  if (before?.versions === versions) return before.hash;
  const files = await known.of(["files", deployment], () => findOwnFiles(tx, deployment));
  const parts = { box: context.box("variables"), drafts: known };
  const deployed = await plannedDeployment(tx, deployment, parts);
  const hash = await findHash(context, tx, spec, { files, deployment: deployed }, known);
  // The newest ones are kept.
  hashes.delete(deployment);
  hashes.set(deployment, { versions, hash });
  for (const oldest of hashes.keys()) {
    if (hashes.size <= rememberedLimit) break;
    hashes.delete(oldest);
  }
  return hash;
}

/** Deployments that one round reads at a time. */
const pageSize = 200;

/**
 * Ends deployments that wait for approvals and whose plan is stale: an approval would not make them
 * run. Returns how many. An approved one ends at its claim. A plan that cannot be read may still be
 * good, with another WINDLASS_SECRET_KEY.
 */
export async function endStale(context: Context, stop?: AbortSignal): Promise<number> {
  const { read } = context.store;
  let ended = 0;
  let after = "";
  while (!stop?.aborted) {
    const page = await read.all(listUnapproved, { after, limit: pageSize });
    for (const deployment of page) {
      const { id } = deployment;
      after = id;
      await nextTurn();
      // Of one deployment: a thousand definitions of megabytes do not fit into memory.
      const known = new Drafts();
      try {
        if (!isStale(await findFault(context, read, deployment, known))) continue;
        await writeJobs(context, async (tx, afterCommit) => {
          const job = await tx.first(findJob, { id });
          if (job?.status !== "QUEUED" || job.unapproved === 0) return;
          const obstacle = await findFault(context, tx, deployment, known.readOnly());
          if (!isStale(obstacle)) return;
          await failUnstarted(tx, afterCommit, { id, reason: obstacle.message }, context.now());
          ended += 1;
        });
      } catch (error) {
        // The next round looks again.
        if (!(error instanceof ChangedMeanwhileError)) throw error;
      }
    }
    if (page.length < pageSize) break;
  }
  return ended;
}

const isStale = (obstacle: Error | undefined): obstacle is RefusalError =>
  obstacle instanceof RefusalError;
