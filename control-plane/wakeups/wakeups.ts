/** Only hints: the store is the truth, so a waiter also looks by itself now and then. */

import type { JobStatus, JobType } from "../../protocol/jobs.ts";
import type { Quota } from "../domain/quotas.ts";
import type { Claimable } from "../domain/worker.ts";

/** A job was queued; or none was, because of what. */
export const scheduleOutcomes = [
  "queued",
  "still_open",
  "queue_full",
  "refused",
  "nothing_deployed",
  "restored",
] as const;
export type ScheduleOutcome = (typeof scheduleOutcomes)[number];

/**
 * What may have changed: a job that may be claimable, a job's log or status, a worker's orders, a
 * login that was ended; and what happened, to be logged and counted.
 */
export interface WakeupTopics {
  readonly queue: QueuedHint;
  readonly job: string;
  readonly worker: string;
  readonly login: string;
  readonly job_event: JobEvent;
  readonly worker_event: WorkerEvent;
  /** A request that a quota refused. */
  readonly quota: Quota;
  /** What came of an attempt to deliver an event. */
  readonly delivery: "delivered" | "failed" | "given_up";
  /** What the run of a schedule has come to. */
  readonly schedule_run: ScheduleOutcome;
  /** A token that was made for a job, by its phase. */
  readonly identity_token: "plan" | "apply";
  /** Bytes of a job's log that were dropped, because it is too long. */
  readonly dropped: number;
}

/** What happened to a job, to be logged and counted. */
export interface JobEvent {
  readonly what: "queued" | "claimed" | "started" | "ended" | "queued again" | "reported late";
  readonly id: string;
  readonly job_type: JobType;
  readonly status: JobStatus;
  /** The name of the person who caused it. */
  readonly by?: string | undefined;
}

/** What happened to a worker, to be logged. */
export interface WorkerEvent {
  readonly what:
    | "registered"
    | "got a new token"
    | "changed"
    | "is draining"
    | "takes jobs again"
    | "removed"
    | "online"
    | "offline";
  readonly id: string;
  readonly name: string | null;
  /** The name of the person, token or worker that caused it. */
  readonly by?: string | undefined;
}

/** Enough of a queued job to tell which worker may take it. */
export type QueuedHint = Claimable;

export interface Wakeups {
  notify<T extends keyof WakeupTopics>(topic: T, about: WakeupTopics[T]): void;
  /** Returns a function that ends the listening. */
  listen<T extends keyof WakeupTopics>(
    topic: T,
    listener: (about: WakeupTopics[T]) => void,
  ): () => void;
  /** Waiters must then look at the store. Returns a function that ends the listening. */
  onMissed(listener: () => void): () => void;
  /**
   * A number that changes at once with each wakeup of the topic, and whenever some may have been
   * lost: what was read from the store before may then be out of date.
   */
  version(topic: keyof WakeupTopics): number;
}
