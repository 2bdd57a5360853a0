import { mayTake, tokenExpiry, withLists } from "../../domain/worker.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import type { WorkerCallerRow } from "../../store/workers/workers.ts";
import type { QueuedHint } from "../../wakeups/wakeups.ts";
import type { WorkerCaller } from "../callers.ts";

export interface ClaimRequest {
  readonly worker: WorkerCaller;
  readonly key: string | undefined;
  readonly waitMilliseconds: number;
  /** Aborted when the caller's connection closes. */
  readonly disconnected: () => AbortSignal;
}

export interface Queue {
  take(worker: WorkerCaller, key: string | undefined): Promise<ClaimRow | null>;
  giveBack(job: ClaimRow): Promise<void>;
}

/**
 * One request that waits, or several of one worker that repeat the same key and get the same
 * result.
 *
 * States:
 * - new: no request has joined yet.
 * - parked: waits. A queued job or a change of its worker wakes it.
 * - woken: an attempt to take a job is under way.
 * - ended: it has a result, which does not change any more.
 *
 * Transitions:
 * - new → parked: the first request joins. Later ones join a parked or a woken claim.
 * - parked → woken: a job is queued that its worker may take, or one was queued before it parked.
 * - woken → parked: the attempt found no job.
 * - woken → ended, claimed: the attempt took a job and a request still waits for it.
 * - parked, woken → ended, expired: the time of one of its requests is over.
 * - parked, woken → ended, drained: its worker takes no new jobs.
 * - parked, woken → ended, refused: its worker was removed, or its token was replaced or has
 *   expired.
 * - parked, woken → ended, failed: the store cannot be read.
 * - parked → ended, disconnected: the last connection has closed. If woken, after the attempt.
 * - parked → ended, stopped: the server stops. If woken, after the attempt, with the job that it
 *   took.
 *
 * A job that is taken for a claim which has ended, or which no request waits for, returns to the
 * queue.
 */
export class WaitingClaim {
  readonly caller: WorkerCaller;
  readonly key: string | undefined;
  readonly #stopping: AbortSignal;
  readonly #result = Promise.withResolvers<ClaimRow | null>();
  #state: "parked" | "woken" | "ended" = "parked";
  #requests = 0;
  #worker: ReturnType<typeof withLists<WorkerCallerRow>>;

  constructor({ worker, key }: Pick<ClaimRequest, "worker" | "key">, stopping: AbortSignal) {
    this.caller = worker;
    this.key = key;
    this.#stopping = stopping;
    this.#worker = withLists<WorkerCallerRow>(worker);
  }

  /** Adds a request; returns the result. Throws what the claim is refused with. */
  async join({
    waitMilliseconds,
    disconnected,
  }: Pick<ClaimRequest, "waitMilliseconds" | "disconnected">): Promise<ClaimRow | null> {
    const signal = disconnected();
    const leave = () => {
      this.#requests -= 1;
      this.#endUnwanted();
    };
    this.#requests += 1;
    signal.addEventListener("abort", leave, { once: true });
    // A signal that was aborted earlier fires no event.
    if (signal.aborted) leave();
    this.#endUnwanted();
    const timer = setTimeout(() => this.end(null), waitMilliseconds);
    try {
      return await this.#result.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    }
  }

  wants(hint: QueuedHint): boolean {
    return this.#state === "parked" && mayTake(this.#worker, hint);
  }

  hasExpiredToken(now: number): boolean {
    const expires = tokenExpiry(this.#worker, this.caller.presented_hash);
    return expires !== null && expires <= now;
  }

  /** Takes over what its worker has and can do now. Returns whether that has changed. */
  renew(worker: WorkerCallerRow): boolean {
    const before = this.#worker;
    this.#worker = withLists(worker);
    return (
      before.labels.join() !== this.#worker.labels.join() ||
      before.features.join() !== this.#worker.features.join()
    );
  }

  /** Wakes it, if it is parked: makes one attempt to take a job. */
  async wake(queue: Queue): Promise<void> {
    if (this.#state !== "parked") return;
    this.#state = "woken";
    try {
      const job = await queue.take(this.caller, this.key);
      if (job && !(this.#requests > 0 && this.end(job))) await queue.giveBack(job);
    } catch (error) {
      this.fail(error);
    }
    if (this.#state === "woken") this.#state = "parked";
    this.#endUnwanted();
  }

  /** Ends it with a job or without one. Returns false if it had ended already. */
  end(job: ClaimRow | null): boolean {
    return this.#end(() => this.#result.resolve(job));
  }

  fail(error: unknown): void {
    this.#end(() => this.#result.reject(error));
  }

  /** Ends it without a job, unless an attempt is under way. */
  stop(): void {
    if (this.#state === "parked") this.end(null);
  }

  #endUnwanted(): void {
    if (this.#requests === 0 || this.#stopping.aborted) this.stop();
  }

  #end(settle: () => void): boolean {
    if (this.#state === "ended") return false;
    this.#state = "ended";
    settle();
    return true;
  }
}
