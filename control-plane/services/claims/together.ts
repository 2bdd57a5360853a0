/**
 * Claims that are made together where control planes share a store: those of one turn of the event
 * loop, and those that come while the ones before are committed, share a transaction and mostly a
 * statement.
 */
import { claimAnyJobs, claimOwnJobs, type TakenRow } from "../../store/claims/claims-together.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import type { Queries } from "../../store/db.ts";
import { lockWorkers } from "../../store/workers/workers.ts";
import type { WorkerCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findStalenessNow } from "../approvals/staleness.ts";
import { notifyOfEvent, shareJobs } from "../job-changes/changes.ts";
import { ChangedMeanwhileError, Drafts } from "../large-work.ts";
import { liftedIds } from "./lifted-ids.ts";
import { keyMilliseconds, openedIfSmall, openLarge, takeJob } from "./take.ts";

/** So many at most share a transaction, which holds locks. */
const claimsTogether = 64;
/** Fewer waiting claims are not worth a second transaction beside the one that runs. */
const claimsBeside = 16;
const transactionsTogether = 2;

interface Claim {
  readonly worker: WorkerCaller;
  readonly key: string | undefined;
  readonly resolve: (job: ClaimRow | null | Promise<ClaimRow | null>) => void;
  readonly reject: (error: unknown) => void;
}

export class ClaimsTogether {
  readonly #context: Context;
  #waiting: Claim[] = [];
  /** Transactions under way, or about to begin. */
  #running = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  take(worker: WorkerCaller, key: string | undefined): Promise<ClaimRow | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ worker, key, resolve, reject });
      const isWorthMore = this.#running < transactionsTogether && this.#isBesideWorth();
      if (this.#running === 0 || isWorthMore) void this.#run();
    });
  }

  #isBesideWorth(): boolean {
    return this.#waiting.length >= claimsBeside;
  }

  async #run(): Promise<void> {
    this.#running += 1;
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0 && (this.#running === 1 || this.#isBesideWorth()))
      await this.#takeSome();
    this.#running -= 1;
  }

  async #takeSome(): Promise<void> {
    const claims = this.#next();
    const single = ({ worker, key, resolve }: Claim) =>
      resolve(takeJob(this.#context, worker, key));
    // The statement for one claim by itself takes what this one leaves out.
    if (claims.length === 1) return claims.forEach(single);
    try {
      const taken = await takeTogether(this.#context, claims);
      for (const claim of claims) {
        const job = taken.get(claim);
        if (job) claim.resolve(this.#open(claim, job));
        else single(claim);
      }
    } catch (error) {
      for (const claim of claims)
        if (error instanceof JobToFailError) single(claim);
        else claim.reject(error);
    }
  }

  async #open({ worker, key }: Claim, job: ClaimRow): Promise<ClaimRow | null> {
    return (await openLarge(this.#context, worker, job)) ?? takeJob(this.#context, worker, key);
  }

  /** Takes the next claims from the queue: of those with the same key, the first. */
  #next(): Claim[] {
    const keys = new Set<string>();
    const next: Claim[] = [];
    const later: Claim[] = [];
    for (const claim of this.#waiting) {
      const key =
        claim.key === undefined ? undefined : JSON.stringify([claim.worker.id, claim.key]);
      if (next.length >= claimsTogether || (key !== undefined && keys.has(key))) later.push(claim);
      else next.push(claim);
      if (key !== undefined) keys.add(key);
    }
    this.#waiting = later;
    return next;
  }
}

/** A job cannot be opened or its plan may be stale: the claim that takes it alone decides. */
class JobToFailError extends Error {
  override readonly name = "JobToFailError";
}

async function takeTogether(
  context: Context,
  claims: readonly Claim[],
): Promise<Map<Claim, ClaimRow>> {
  const groups = Map.groupBy(claims, ({ worker: { owner_id, labels, features } }) =>
    JSON.stringify([owner_id, labels, features]),
  );
  return shareJobs(context, async (tx, afterCommit) => {
    const taken = new Map<Claim, ClaimRow>();
    // Claims with the same key follow one another.
    const keyed = claims.filter(({ key }) => key !== undefined).map(({ worker }) => worker.id);
    if (keyed.length > 0) await tx.all(lockWorkers, { ids: JSON.stringify(keyed) });
    for (const group of groups.values()) {
      const rows = await claimJobs(context, tx, group);
      for (const claim of group) {
        const index = rows.findIndex(
          (row) => row.worker_id === claim.worker.id && row.claim_key === (claim.key ?? null),
        );
        if (index < 0) continue;
        const [row] = rows.splice(index, 1);
        const job = openedIfSmall(context, row!);
        if (!job || (await isStaleOrUnknown(context, tx, job))) throw new JobToFailError();
        taken.set(claim, job);
        notifyOfEvent(afterCommit, "claimed", { ...job, status: "PROCESSING" });
      }
    }
    return taken;
  });
}

async function isStaleOrUnknown(context: Context, tx: Queries, job: ClaimRow): Promise<boolean> {
  try {
    return (await findStalenessNow(context, tx, job, new Drafts())) !== undefined;
  } catch (error) {
    if (error instanceof ChangedMeanwhileError) return true;
    throw error;
  }
}

/** One statement for workers that may take the same jobs. */
function claimJobs(context: Context, tx: Queries, claims: readonly Claim[]): Promise<TakenRow[]> {
  const now = context.now();
  const { owner_id: owner, labels, features } = claims[0]!.worker;
  const params = {
    claims: JSON.stringify(
      claims.map(({ worker, key }, n) => ({ n, worker: worker.id, key: key ?? null })),
    ),
    labels,
    features,
    now,
    lifted: liftedIds(context),
    after: now - keyMilliseconds,
    heads: 16 + 4 * claims.length,
  };
  return owner === null ? tx.all(claimAnyJobs, params) : tx.all(claimOwnJobs, { ...params, owner });
}
