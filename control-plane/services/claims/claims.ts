/**
 * Claims. A worker's request is answered at once, or is parked until a job can be given to it. A wakeup wakes one parked request that
 * may take the job; a sweep looks by itself in case a wakeup was lost.
 */
import { lose } from "../../domain/job.ts";
import { acceptsToken, mayTake } from "../../domain/worker.ts";
import type { WorkerCaller } from "../callers.ts";
import { RefusalError } from "../../domain/refusal.ts";
import {
  claimAnyJob,
  claimOwnJob,
  findAnyFree,
  findClaimed,
  findOwnFree,
  findQueuedHints,
  type ClaimRow,
} from "../../store/claims/claims.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { findWorkerCaller } from "../../store/workers/workers.ts";
import type { QueuedHint } from "../../wakeups/wakeups.ts";
import { claimedJob, opened } from "./take.ts";
import type { Context } from "../context.ts";
import { changeJob, hintOf, writeJobs } from "../jobs/changes.ts";
import { failUnreadable } from "../jobs/outcomes.ts";
import { newParked, type Parked } from "./waiting-claim.ts";
import { minute } from "../../../common/units.ts";

/** An Idempotency-Key is remembered this long (docs/decisions.md, "Idempotency key"). */
const keyMilliseconds = 10 * minute;
/** A lost wakeup costs at most this. */
const sweepMilliseconds = 1000;
/** A sweep looks at this many of the oldest queued jobs: it runs every second and must stay cheap. */
const sweptJobs = 1000;
/** A claim ends at most so many jobs that cannot be opened, then leaves the rest to the next one: they share a transaction with others. */
const unreadableJobs = 100;

export interface ClaimRequest {
  readonly worker: WorkerCaller;
  readonly key: string | undefined;
  readonly waitMilliseconds: number;
  /** Aborted when the caller's connection closes. */
  readonly gone: () => AbortSignal;
}

export interface Claims {
  /** The claim's answer as JSON text, or null when there is no job. */
  claim(request: ClaimRequest): Promise<string | null>;
  /** How many requests are parked. */
  parked(): number;
  /** Ends what is parked; resolves when every job that was taken is answered or back in the queue. */
  close(): Promise<void>;
}

/** The queue's claims over one context; `close` ends what is parked. */
export function claimService(context: Context): Claims {
  const { store, wakeups, now } = context;
  /** In the order of their arrival. */
  const parked = new Set<Parked>();

  const take = async (worker: WorkerCaller, key: string | undefined): Promise<ClaimRow | null> => {
    return writeJobs(context, async (tx, rings) => {
      const claim_key = key ?? null;
      const params = { worker: worker.id, claim_key, now: now() };
      // Here too: a first claim with this key may stand before this one in the same commit.
      const earlier = key === undefined ? undefined : await repeated(tx, worker, key);
      if (earlier) return earlier;
      for (let n = 0; n < unreadableJobs; n += 1) {
        const job =
          worker.owner_id === null
            ? await tx.first(claimAnyJob, params)
            : await tx.first(claimOwnJob, { ...params, owner: worker.owner_id });
        if (!job) return null;
        try {
          return opened(context, job);
        } catch {
          await failUnreadable(tx, rings, job.id, now());
        }
      }
      return null;
    });
  };

  const repeated = async (
    queries: Queries,
    worker: WorkerCaller,
    key: string,
  ): Promise<ClaimRow | undefined> => {
    const after = now() - keyMilliseconds;
    const job = await queries.first(findClaimed, { worker: worker.id, claim_key: key, after });
    return job && opened(context, job);
  };

  /** Asked before the writer is used: most polls find nothing that could be given to anyone. */
  const isQueueEmpty = async ({ owner_id: owner }: WorkerCaller): Promise<boolean> =>
    (owner === null
      ? await store.read.first(findAnyFree, {})
      : await store.read.first(findOwnFree, { owner })) === undefined;

  /** The claim has ended without a taker: the job goes back to the queue. */
  const giveBack = async ({ id, attempt }: ClaimRow): Promise<void> => {
    await writeJobs(context, async (tx, rings) => {
      const job = await tx.first(findJob, { id });
      if (job?.attempt === attempt && job.started_at === null)
        await changeJob(tx, rings, job, lose(job, now()), now());
    });
  };

  /** Claims under way for parked requests. */
  const tries = new Set<Promise<void>>();
  const retry = (entry: Parked): Promise<void> => {
    entry.isTrying = true;
    const trying = tryAgain(entry).finally(() => tries.delete(trying));
    tries.add(trying);
    return trying;
  };
  const tryAgain = async (entry: Parked): Promise<void> => {
    try {
      const job = await take(entry.caller, entry.key);
      // The request may have ended or left while its claim was under way.
      if (job && !(entry.waiting > 0 && entry.end(job))) await giveBack(job);
    } catch (error) {
      entry.fail(error);
    } finally {
      entry.isTrying = false;
      if (entry.waiting === 0 || context.draining.aborted) entry.end(null);
    }
  };

  const wakeOne = (hint: QueuedHint): void => {
    for (const entry of parked) {
      if (entry.isTrying || !mayTake(entry.claimant, hint)) continue;
      void retry(entry);
      return;
    }
  };

  /** A worker changed: a draining one gets nothing more, a removed or re-keyed one must not keep waiting, an upgraded one may get more. */
  const recheck = async (workerId: string): Promise<void> => {
    for (const entry of parked) {
      if (entry.caller.id !== workerId) continue;
      try {
        const worker = await store.read.first(findWorkerCaller, { id: workerId });
        if (!acceptsToken(worker, entry.caller.presented_hash, now()))
          entry.fail(new RefusalError("invalid_worker_token"));
        else if (worker?.draining_at !== null) entry.end(null);
        else if (entry.renew(worker) && !entry.isTrying) void retry(entry);
      } catch (error) {
        entry.fail(error);
      }
    }
  };

  /** The store cannot be read: ends all waiting claims. */
  const failAll = (error: unknown): void => {
    for (const entry of parked) entry.fail(error);
  };

  const sweep = async (): Promise<void> => {
    for (const { caller, tokenExpiresAt } of parked)
      if (tokenExpiresAt !== null && tokenExpiresAt <= now()) await recheck(caller.id);
    const hints = await store.read.all(findQueuedHints, { limit: sweptJobs });
    for (const hint of hints) wakeOne(hintOf(hint));
  };
  let sweeping: NodeJS.Timeout | undefined;
  const keepSweeping = (): void => {
    sweeping ??= setTimeout(() => {
      sweeping = undefined;
      if (parked.size === 0) return;
      void sweep().catch(failAll).finally(keepSweeping);
    }, sweepMilliseconds);
  };

  const park = async (
    request: ClaimRequest,
    join: Parked | undefined,
  ): Promise<ClaimRow | null> => {
    const entry = join ?? newParked(request);
    const gone = request.gone();
    const leave = () => {
      entry.waiting -= 1;
      if (entry.waiting === 0 && !entry.isTrying) entry.end(null);
    };
    entry.waiting += 1;
    gone.addEventListener("abort", leave, { once: true });
    // A signal that was aborted earlier fires no event.
    if (gone.aborted) leave();
    if (context.draining.aborted && !entry.isTrying) entry.end(null);
    const timer = setTimeout(() => entry.end(null), request.waitMilliseconds);
    try {
      if (!join) {
        parked.add(entry);
        keepSweeping();
        // A job may have come between the first look and the parking.
        const isEmpty = await isQueueEmpty(request.worker);
        if (!isEmpty && !entry.isTrying && !context.draining.aborted) void retry(entry);
      }
      return await entry.answer;
    } finally {
      clearTimeout(timer);
      gone.removeEventListener("abort", leave);
      parked.delete(entry);
    }
  };

  /** One whose claim is under way is answered with what that brings. */
  const endAll = () => {
    for (const entry of parked) if (!entry.isTrying) entry.end(null);
  };
  context.draining.addEventListener("abort", endAll, { once: true });
  const unlisten = [
    wakeups.listen("queue", wakeOne),
    wakeups.listen("worker", (id) => void recheck(id).catch(failAll)),
  ];

  const find = async (request: ClaimRequest): Promise<ClaimRow | null> => {
    const { worker, key, waitMilliseconds } = request;
    if (key !== undefined) {
      const earlier = await repeated(store.read, worker, key);
      if (earlier) return earlier;
    }
    if (worker.draining_at !== null || context.draining.aborted) return null;
    const join = [...(key === undefined ? [] : parked)].find(
      (entry) => entry.caller.id === worker.id && entry.key === key,
    );
    if (join) return park(request, join);
    const job = (await isQueueEmpty(worker)) ? null : await take(worker, key);
    return job ?? (waitMilliseconds > 0 ? park(request, undefined) : null);
  };

  return {
    claim: async (request) => {
      const job = await find(request);
      return job && claimedJob(context, job);
    },
    parked: () => parked.size,
    close: async () => {
      endAll();
      clearTimeout(sweeping);
      for (const end of unlisten) end();
      await Promise.all(tries);
    },
  };
}
