/** Events that follow from time alone: what has lasted too long, or is about to end. */
import { day, minute } from "../../../common/units.ts";
import { isWaiting, waitingText } from "../../../protocol/waiting-words.ts";
import { time } from "../../domain/moments.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import {
  findExpiringTokens,
  findUntoldLocks,
  findStalled,
  findStalledRules,
} from "../../store/notifications/watched.ts";
import { system } from "../audit/audit.ts";
import { viewWaiting } from "../claims/waiting-reason.ts";
import type { Context } from "../context.ts";
import { recordEvent } from "../events/record.ts";
import { recordJobEvent } from "../job-changes/job-events.ts";

/** Of each kind in one round; the next round finds the rest. */
const foundAtOnce = 100;
/** Of each rule, so that a space in which much waits delays no other. */
const stalledAtOnce = 20;

/** Days before the end of an access token, and of a token that was made for longer. */
const warnedDays = [7, 1] as const;

/** Jobs that wait longer than a rule says, and states that an ended job has left locked. */
export async function watchWaiting(context: Context, signal: AbortSignal): Promise<void> {
  const { store, now } = context;
  for (const { rule } of await store.read.all(findStalledRules, {})) {
    const found = { rule, now: now(), limit: stalledAtOnce };
    for (const { job } of await store.read.all(findStalled, found)) {
      if (signal.aborted) return;
      await tellStalled(context, rule, job);
    }
  }
  const locks = await store.read.all(findUntoldLocks, { limit: foundAtOnce });
  if (locks.length > 0)
    await store.write(async (tx) => {
      for (const { spec: configuration, owner, lock_id, created_at } of locks) {
        const data = { since: time(created_at) };
        const what = { type: "state.locked_without_job", owner, configuration, data } as const;
        await recordEvent(tx, now(), { ...what, by: system, once: `locked ${lock_id}` });
      }
    });
}

async function tellStalled(context: Context, rule: string, id: string): Promise<void> {
  const { store, now } = context;
  await store.write(async (tx) => {
    const job = await tx.first(findJob, { id });
    if (job?.status !== "QUEUED" || job.unapproved === 1) return;
    const waiting = await viewWaiting(context, tx, job);
    const at = now();
    const minutes = Math.floor((at - job.created_at) / minute);
    const data = { minutes, ...(isWaiting(waiting) ? { reason: waitingText(waiting) } : {}) };
    const once = `stalled ${id} ${rule}`;
    await recordJobEvent(tx, at, "queue.stalled", job, { data, rule, once });
  });
}

export async function watchTokens({ store, now }: Pick<Context, "store" | "now">): Promise<void> {
  for (const days of warnedDays) {
    const before = { now: now(), period: days * day, days, limit: foundAtOnce };
    const tokens = await store.read.all(findExpiringTokens, before);
    if (tokens.length > 0)
      await store.write(async (tx) => {
        for (const { id, name, owner, expires_at } of tokens) {
          const data = { token: { id, name }, expires_at: time(expires_at) };
          const once = `token ${id} ${days}`;
          const what = { type: "token.expires", owner, about: id, data, once } as const;
          await recordEvent(tx, now(), { ...what, by: system });
        }
      });
  }
}
