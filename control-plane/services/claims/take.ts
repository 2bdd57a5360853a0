/** Takes a job from the queue for a worker, returns it, and writes the response for the runner. */
import type { ConfigSnapshot } from "../../../protocol/configurations.ts";
import type { ClaimedJob } from "../../../protocol/executions.ts";
import { minute } from "../../../common/units.ts";
import { claimedFieldsOf, type UsedIdentity } from "../../domain/cloud-identity.ts";
import { hasDebug, lose } from "../../domain/job.ts";
import { snapshotForRunner, unseal } from "../../domain/snapshot.ts";
import type { StoredSnapshot } from "../../domain/snapshot-values.ts";
import {
  claimAnyJob,
  claimAnyJobLeft,
  claimOwnJob,
  claimOwnJobLeft,
  findAnyFree,
  findClaimed,
  findOwnFree,
  type ClaimRow,
} from "../../store/claims/claims.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { lockWorker } from "../../store/workers/workers.ts";
import type { WorkerCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findStaleness, findStalenessNow } from "../approvals/staleness.ts";
import { changeJob, notifyOfEvent, shareJobs, writeJobs } from "../job-changes/changes.ts";
import { failUnstarted } from "../job-changes/outcomes.ts";
import { ChangedMeanwhileError, Drafts, inTurn, largeBytes } from "../large-work.ts";
import { idIn, wholeText } from "../definitions.ts";
import { findUnknown } from "../plans/summaries.ts";
import { jobToken } from "../states/job-tokens.ts";
import { findFormerSecrets } from "../states/former-secrets.ts";
import { followFields } from "./follow-fields.ts";
import { liftedIds } from "./lifted-ids.ts";

/** An Idempotency-Key is remembered this long (docs/decisions.md, "Idempotency key"). */
export const keyMilliseconds = 10 * minute;
/** One claim leaves more jobs that cannot run to the next: claims share a transaction. */
const failedJobs = 100;

const unreadable =
  "the job's sensitive values cannot be decrypted: they were sealed with another WINDLASS_SECRET_KEY. Set them again in the configuration, then create a new job";

/** Fails jobs on its way that cannot be opened or whose plan is stale; null if there is none. */
export async function takeJob(
  context: Context,
  worker: WorkerCaller,
  key: string | undefined,
): Promise<ClaimRow | null> {
  const known = new Drafts();
  for (let n = 0; n < failedJobs; n += 1) {
    const tried: { job?: ClaimRow } = {};
    try {
      const job = await takeOne(context, worker, key, known, tried);
      const claim = job && (await openLarge(context, worker, job));
      if (claim !== undefined) return claim;
    } catch (error) {
      if (!(error instanceof ChangedMeanwhileError) || !tried.job) throw error;
      // Computes the unknown hash outside of the transaction, for the next attempt.
      await findStaleness(context, tried.job, known);
    }
  }
  return null;
}

/** Large values are opened outside of the transaction. Undefined: the job failed. */
export async function openLarge(
  context: Context,
  { owner_id: owner }: WorkerCaller,
  job: ClaimRow,
): Promise<ClaimRow | undefined> {
  if (!isLarge(job)) return job;
  const open = async () => {
    const config_snapshot = await wholeText(context.store.read, job.config_snapshot!);
    return openedOrNone(context, { ...job, config_snapshot });
  };
  const claim = await inTurn(owner ?? "", 1 + largeBytes, open, Infinity);
  if (claim) return claim;
  await writeJobs(context, async (tx, afterCommit) => {
    const now = await tx.first(findJob, { id: job.id });
    if (now?.attempt === job.attempt && now.started_at === null)
      await failUnstarted(tx, afterCommit, { id: job.id, reason: unreadable }, context.now());
  });
  return undefined;
}

/** Large values are opened after the transaction. */
const isLarge = ({ config_snapshot: stored }: ClaimRow): boolean =>
  stored !== null && (stored.length > largeBytes || idIn(stored) !== undefined);

/** Returns undefined if the values were sealed with a key that this server does not have. */
export const openedIfSmall = (context: Context, job: ClaimRow): ClaimRow | undefined =>
  isLarge(job) ? job : openedOrNone(context, job);

async function takeOne(
  context: Context,
  worker: WorkerCaller,
  key: string | undefined,
  known: Drafts,
  tried: { job?: ClaimRow },
): Promise<ClaimRow | null> {
  return shareJobs(context, async (tx, afterCommit, beExclusive) => {
    const now = context.now();
    // Claims with the same key follow one another.
    if (key !== undefined && context.store.isShared) await tx.first(lockWorker, { id: worker.id });
    // Here too: a first claim with this key may stand before this one in the same commit.
    const earlier = key === undefined ? undefined : await findRepeated(context, tx, worker, key);
    if (earlier) return earlier;
    const claim_key = key ?? null;
    const params = { worker: worker.id, claim_key, now, lifted: liftedIds(context) };
    for (let n = 0; n < failedJobs; n += 1) {
      const job =
        (await claimOne(tx, worker, params)) ??
        (context.store.isShared ? await claimLeft(tx, worker, params) : undefined);
      if (!job) return null;
      const claim = openedIfSmall(context, job);
      tried.job = job;
      const reason = claim ? await findStalenessNow(context, tx, job, known) : unreadable;
      if (claim && reason === undefined) {
        notifyOfEvent(afterCommit, "claimed", { ...job, status: "PROCESSING" });
        return claim;
      }
      beExclusive();
      await failUnstarted(
        tx,
        afterCommit,
        { id: job.id, reason: reason ?? unreadable },
        context.now(),
      );
    }
    return null;
  });
}

type Params = {
  readonly worker: string;
  readonly claim_key: string | null;
  readonly now: number;
  readonly lifted: string;
};

const claimOne = (tx: Queries, { owner_id: owner }: WorkerCaller, params: Params) =>
  owner === null
    ? tx.first(claimAnyJob, { ...params })
    : tx.first(claimOwnJob, { ...params, owner });

const claimLeft = (tx: Queries, { owner_id: owner }: WorkerCaller, params: Params) =>
  owner === null
    ? tx.first(claimAnyJobLeft, { ...params })
    : tx.first(claimOwnJobLeft, { ...params, owner });

/** Returns a job to the queue, unless it has started or another claim has taken it. */
export async function giveBack(context: Context, { id, attempt }: ClaimRow): Promise<void> {
  await writeJobs(context, async (tx, afterCommit) => {
    const now = context.now();
    const job = await tx.first(findJob, { id });
    if (job?.attempt === attempt && job.started_at === null)
      await changeJob(tx, afterCommit, job, lose(job, now), now);
  });
}

/** Returns the job that an earlier claim with this key took, unless it has started. */
export async function findRepeated(
  context: Context,
  queries: Queries,
  worker: WorkerCaller,
  key: string,
): Promise<ClaimRow | undefined> {
  const after = context.now() - keyMilliseconds;
  const job = await queries.first(findClaimed, { worker: worker.id, claim_key: key, after });
  return job && (isLarge(job) ? job : opened(context, job));
}

/** Read before the writer is used, because most polls find nothing. */
export async function isQueueEmpty(
  { store: { read } }: Context,
  { owner_id: owner }: WorkerCaller,
): Promise<boolean> {
  const free =
    owner === null ? await read.first(findAnyFree, {}) : await read.first(findOwnFree, { owner });
  return free === undefined;
}

/** A `ClaimedJob` as text: the snapshot is JSON already and may be a megabyte. */
export async function claimedJobText(context: Context, job: ClaimRow): Promise<string> {
  const stored = job.config_snapshot ?? "{}";
  const former = await findFormerSecrets(context, job);
  const unknown = await findUnknown(context.store.read, job.plan_job_id);
  const fields = JSON.stringify({
    id: job.id,
    job_type: job.job_type,
    spec_id: job.spec_id,
    zone_id: job.zone_id,
    plan_job_id: job.plan_job_id,
    attempt: job.attempt,
    timeout_seconds: job.timeout_seconds,
    ...planOptionsIn(stored),
    ...(hasDebug(job) ? { debug: true } : {}),
    job_token: jobToken(context, job.id, job.attempt),
    assigned_worker_id: job.assigned_worker_id,
    deployed_backend: job.deployed_backend,
    ...(job.job_type === "DESTROY_WORKER" ? teardownIn(stored) : {}),
    ...(unknown ? { unknown_values: unknown } : {}),
    ...(former.length > 0 ? { former_secrets: former } : {}),
    ...(await followFields(context, job)),
  });
  return `{"job":${fields.slice(0, -1)},"config_snapshot":${stored}},"cloud_identity":${identityText(job)}}`;
}

const identityText = ({ cloud_identity, job_type }: ClaimRow): string =>
  cloud_identity === null
    ? "null"
    : JSON.stringify(
        claimedFieldsOf(JSON.parse(cloud_identity) as UsedIdentity, job_type === "PLAN"),
      );

/** Read only where there are some, because a snapshot may be a megabyte. */
function planOptionsIn(stored: string): Pick<StoredSnapshot, "plan_options"> {
  if (!stored.includes('"plan_options":')) return {};
  const { plan_options } = JSON.parse(stored) as StoredSnapshot;
  return plan_options ? { plan_options } : {};
}

function teardownIn(stored: string): Pick<ClaimedJob["job"], "targets" | "resumes_teardown"> {
  const { targets = [], resumes_teardown } = JSON.parse(stored) as StoredTeardown;
  return { targets, ...(resumes_teardown ? { resumes_teardown } : {}) };
}

type StoredTeardown = StoredSnapshot & { readonly targets?: string[] };

function openedOrNone(context: Pick<Context, "box">, job: ClaimRow): ClaimRow | undefined {
  try {
    return opened(context, job);
  } catch {
    return undefined;
  }
}

/** Throws if the values were sealed with a key that this server does not have. */
function opened(context: Pick<Context, "box">, job: ClaimRow): ClaimRow {
  const { id, config_snapshot: stored } = job;
  if (!stored?.includes('"sensitive":')) return job;
  const plain = unseal(JSON.parse(stored) as ConfigSnapshot, context.box("variables"), id);
  return { ...job, config_snapshot: JSON.stringify(snapshotForRunner(plain)) };
}
