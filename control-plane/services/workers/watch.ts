import { releaseCancelled, unansweredCancelMilliseconds, type JobRow } from "../../domain/job.ts";
import { second } from "../../../common/units.ts";
import { system } from "../audit/audit.ts";
import { followClock, type Clock } from "../clock.ts";
import type { Context } from "../context.ts";
import { changeJob, writeJobs } from "../job-changes/changes.ts";
import { loseJob, loseSomeJobs, recordOutcome } from "../job-changes/outcomes.ts";
import { findFact, restoredAt } from "../../store/facts.ts";
import { findJob, findOmitted, findUnansweredCancels } from "../../store/jobs/jobs.ts";
import {
  findLeftEphemeral,
  findLostHolders,
  findSilent,
  markOffline,
} from "../../store/workers/silent.ts";
import { recordWorkerEvent } from "./worker-events.ts";
import { removeWorker } from "./teardown.ts";

/** A busy machine may delay a round for less. */
const shortestGap = 5 * second;

/**
 * Returns the round of the watch. Nothing is decided before the server has been ready for a period:
 * while it, or its database, was away, no runner could report. It was away, too, if it has not
 * looked at the clock for long: the process was stopped, or its machine suspended.
 */
export function workerWatch(
  context: Context,
  clock: Clock,
  onClockSet: (seconds: number) => void,
): () => Promise<void> {
  let readyAt = context.now();
  let lastLook = readyAt;
  /** A process may be stopped between any two looks, so also in the middle of a round. */
  const look = () => {
    const now = context.now();
    const gap = Math.abs(now - lastLook);
    if (gap > Math.max(shortestGap, context.periods.offline / 4)) readyAt = now;
    lastLook = now;
  };
  return async () => {
    try {
      const step = await followClock(context, clock);
      readyAt += step;
      lastLook += step;
      if (step !== 0) onClockSet(step / 1000);
      look();
      // Until then a round asks nothing of the database, which may be away.
      if (context.now() - readyAt < context.periods.offline) {
        await findFact(context.store.read, restoredAt);
        look();
      }
      await watchOnce(context, readyAt);
    } catch (error) {
      readyAt = context.now();
      throw error;
    }
  };
}

export async function watchOnce(context: Context, readyAt: number): Promise<void> {
  const { store, wakeups, periods } = context;
  const now = context.now();
  if (now - readyAt >= periods.offline) {
    const before = now - periods.offline;
    // A round that finds nothing takes no turn of the writer.
    const offline = (await store.read.first(findSilent, { before }))
      ? await store.write(async (tx) => {
          const marked = await tx.all(markOffline, { before, now });
          for (const worker of marked) await recordWorkerEvent(tx, now, "worker.offline", worker);
          return marked;
        })
      : [];
    for (const { id, name } of offline) {
      wakeups.notify("worker", id);
      wakeups.notify("worker_event", { what: "offline", id, name });
    }
    await loseOmitted(context, await store.read.all(findOmitted, { period: periods.offline }));
  }
  if (now - readyAt >= periods.lost) {
    const before = now - periods.lost;
    for (const { id } of await store.read.all(findLostHolders, { before }))
      await loseWorker(context, id, before);
    if (await store.read.first(findLeftEphemeral, { before }))
      await writeJobs(context, async (tx, afterCommit) => {
        for (const worker of await tx.all(findLeftEphemeral, { before }))
          await removeWorker(tx, afterCommit, worker, system, context.now());
      });
  }
  // While the server was down no runner could receive or acknowledge a cancel.
  if (now - readyAt < unansweredCancelMilliseconds) return;
  const before = now - unansweredCancelMilliseconds;
  for (const { id } of await store.read.all(findUnansweredCancels, { before }))
    await writeJobs(context, async (tx, afterCommit) => {
      const job = await tx.first(findJob, { id });
      if (!job) return;
      const released = releaseCancelled(job, now);
      const after = await changeJob(tx, afterCommit, job, released, now, { keepLock: true });
      await recordOutcome(tx, { by: system, action: "job.release", before: job, after }, now);
    });
}

/** Unless it came back. After a crash, the next round decides the rest. */
async function loseWorker(context: Context, worker: string, before: number): Promise<void> {
  let isMore: boolean;
  do {
    isMore = await writeJobs(context, async (tx, afterCommit) => {
      const lost = await tx.all(findLostHolders, { before });
      if (!lost.some(({ id }) => id === worker)) return false;
      return loseSomeJobs(tx, afterCommit, worker, system, context.now());
    });
  } while (isMore);
}

/** Each in its own transaction, and only if the same worker and attempt still hold it. */
async function loseOmitted(context: Context, found: readonly JobRow[]): Promise<void> {
  for (const { id, worker_id, attempt } of found)
    await writeJobs(context, async (tx, afterCommit) => {
      const job = await tx.first(findJob, { id });
      if (!job || job.worker_id !== worker_id || job.attempt !== attempt) return;
      if (job.omitted_at !== null) await loseJob(tx, afterCommit, job, system, context.now());
    });
}
