/** A wakeup wakes one waiting claim; a sweep looks too, in case a wakeup was lost. */
import { RefusalError } from "../../domain/refusal.ts";
import { acceptsToken } from "../../domain/worker.ts";
import { findQueuedHints, type ClaimRow } from "../../store/claims/claims.ts";
import { findWorkerCaller } from "../../store/workers/workers.ts";
import type { QueuedHint } from "../../wakeups/wakeups.ts";
import type { WorkerCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { hintOf } from "../job-changes/changes.ts";
import { askedTogether } from "./asked-together.ts";
import {
  claimedJobText,
  findRepeated,
  giveBack,
  isQueueEmpty,
  openLarge,
  takeJob,
} from "./take.ts";
import { ClaimsTogether } from "./together.ts";
import { WaitingClaim, type ClaimRequest, type Queue } from "./waiting-claim.ts";

/** How long a lost wakeup can delay a claim, at most. */
const sweepMilliseconds = 1000;
/** Limits the oldest queued jobs of one sweep, which runs every second. */
const sweptJobs = 1000;

export class Claims {
  readonly #context: Context;
  readonly #queue: Queue;
  readonly #isQueueEmpty: (worker: WorkerCaller) => Promise<boolean>;
  readonly #waiting = new Set<WaitingClaim>();
  /** Attempts under way for waiting claims; each outlives a claim that ends meanwhile. */
  readonly #attempts = new Set<Promise<void>>();
  readonly #unlisten: readonly (() => void)[];
  #sweeping: NodeJS.Timeout | undefined;

  constructor(context: Context) {
    this.#context = context;
    const isEmpty = (worker: WorkerCaller) => isQueueEmpty(context, worker);
    this.#isQueueEmpty = context.store.isShared ? askedTogether(isEmpty) : isEmpty;
    const together = context.store.isShared ? new ClaimsTogether(context) : undefined;
    this.#queue = {
      take: (worker, key) => together?.take(worker, key) ?? takeJob(context, worker, key),
      giveBack: (job) => giveBack(context, job),
    };
    context.draining.addEventListener("abort", () => this.#stopAll(), { once: true });
    this.#unlisten = [
      context.wakeups.listen("queue", (hint) => this.#wakeOne(hint)),
      context.wakeups.listen("worker", (id) => void this.#recheck(id)),
      context.wakeups.onMissed(() => void this.#recheckAll()),
    ];
  }

  async claim(request: ClaimRequest): Promise<string | null> {
    const job = await this.#find(request);
    return job && claimedJobText(this.#context, job);
  }

  waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves when every taken job has a runner or is back in the queue. */
  async close(): Promise<void> {
    this.#stopAll();
    clearTimeout(this.#sweeping);
    for (const end of this.#unlisten) end();
    await Promise.all(this.#attempts);
  }

  async #find(request: ClaimRequest): Promise<ClaimRow | null> {
    const context = this.#context;
    const { worker, key, waitMilliseconds } = request;
    if (key !== undefined) {
      const earlier = await findRepeated(context, context.store.read, worker, key);
      if (earlier) return (await openLarge(context, worker, earlier)) ?? null;
    }
    if (worker.draining_at !== null || context.draining.aborted) return null;
    const same = this.#findSame(request);
    if (same) return same.join(request);
    const job = (await this.#isQueueEmpty(worker)) ? null : await this.#queue.take(worker, key);
    return job ?? (waitMilliseconds > 0 ? this.#wait(request) : null);
  }

  #findSame({ worker, key }: ClaimRequest): WaitingClaim | undefined {
    if (key === undefined) return undefined;
    return this.#waiting
      .values()
      .find(({ caller, key: its }) => its === key && caller.id === worker.id);
  }

  async #wait(request: ClaimRequest): Promise<ClaimRow | null> {
    // Again: of two requests that arrive together, neither found the other at its first look.
    const same = this.#findSame(request);
    if (same) return same.join(request);
    const claim = new WaitingClaim(request, this.#context.draining);
    const result = claim.join(request);
    this.#waiting.add(claim);
    this.#keepSweeping();
    void this.#lookAgain(claim);
    try {
      return await result;
    } finally {
      this.#waiting.delete(claim);
    }
  }

  /** A job may have come, or been taken with this key, between the first look and the parking. */
  async #lookAgain(claim: WaitingClaim): Promise<void> {
    const { caller, key } = claim;
    const { read } = this.#context.store;
    try {
      const isTaken =
        key !== undefined && (await findRepeated(this.#context, read, caller, key)) !== undefined;
      if (isTaken || !(await this.#isQueueEmpty(caller))) this.#wake(claim);
    } catch (error) {
      claim.fail(error);
    }
  }

  #wake(claim: WaitingClaim): void {
    const attempt = claim.wake(this.#queue).finally(() => this.#attempts.delete(attempt));
    this.#attempts.add(attempt);
  }

  #wakeOne(hint: QueuedHint): void {
    for (const claim of this.#waiting) {
      if (!claim.wants(hint)) continue;
      this.#wake(claim);
      return;
    }
  }

  /** The worker may drain, be removed, have a new key, or be able to take more. */
  async #recheck(workerId: string): Promise<void> {
    const { store, now } = this.#context;
    for (const claim of this.#waiting) {
      if (claim.caller.id !== workerId) continue;
      try {
        const worker = await store.read.first(findWorkerCaller, { id: workerId });
        if (!acceptsToken(worker, claim.caller.presented_hash, now()))
          claim.fail(new RefusalError("invalid_worker_token"));
        else if (worker?.draining_at !== null) claim.end(null);
        else if (claim.renew(worker)) this.#wake(claim);
      } catch (error) {
        claim.fail(error);
      }
    }
  }

  /** After wakeups were lost. The sweep finds the jobs. */
  async #recheckAll(): Promise<void> {
    for (const id of new Set([...this.#waiting].map(({ caller }) => caller.id)))
      await this.#recheck(id);
  }

  /** Looks for jobs whose wakeup was lost, as long as a claim waits. */
  #keepSweeping(): void {
    this.#sweeping ??= setTimeout(() => {
      this.#sweeping = undefined;
      if (this.#waiting.size === 0) return;
      void this.#sweep().finally(() => this.#keepSweeping());
    }, sweepMilliseconds);
  }

  async #sweep(): Promise<void> {
    const { store, now } = this.#context;
    try {
      for (const claim of this.#waiting)
        if (claim.hasExpiredToken(now())) await this.#recheck(claim.caller.id);
      const hints = await store.read.all(findQueuedHints, { limit: sweptJobs });
      for (const hint of hints) this.#wakeOne(hintOf(hint));
    } catch (error) {
      for (const claim of this.#waiting) claim.fail(error);
    }
  }

  #stopAll(): void {
    for (const claim of this.#waiting) claim.stop();
  }
}
