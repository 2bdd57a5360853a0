/**
 * Wakeups: hints that something may have changed. The store is the truth; a lost wakeup only costs
 * time, so a waiter also looks again by itself now and then.
 */

import type { Quota } from "../domain/quotas.ts";
import type { Claimable } from "../domain/worker.ts";

/**
 * What may have changed: a job that may be claimable, a job's log or status, a worker's orders, a
 * login that was ended; and what a job came to, to be counted.
 */
export interface WakeupTopics {
  readonly queue: QueuedHint;
  readonly job: string;
  readonly worker: string;
  readonly login: string;
  readonly ended: EndedHint;
  /** A request that a quota refused. */
  readonly quota: Quota;
  /** Bytes of a job's log that were dropped, because it is too long. */
  readonly dropped: number;
}

/** What a job was, and what came of it. */
interface EndedHint {
  readonly job_type: string;
  readonly status: string;
}

/** Enough of a queued job to tell which worker may take it. */
export type QueuedHint = Claimable;

export interface Wakeups {
  ring<T extends keyof WakeupTopics>(topic: T, about: WakeupTopics[T]): void;
  /** Answers a function that ends the listening. */
  listen<T extends keyof WakeupTopics>(
    topic: T,
    listener: (about: WakeupTopics[T]) => void,
  ): () => void;
}
