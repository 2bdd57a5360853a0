/** What is measured from stored times must not change with a step of the wall clock. */
import { minute } from "../../common/units.ts";
import {
  clampDue,
  clampFuture,
  isAnyInFuture,
  moveTimes,
} from "../store/operations/clock-steps.ts";
import { findNow } from "../store/operations/now.ts";
import { lookAgain } from "../store/schedules/rounds.ts";
import type { Queries } from "../store/db.ts";
import type { Context } from "./context.ts";

/** Epoch milliseconds by the monotonic clock; only `followClock` steps them. */
export interface Clock {
  now(): number;
  /** How far the wall clock is ahead of this one; negative: behind. */
  ahead(): number;
  shift(milliseconds: number): void;
}

export function steadyClock(start = Date.now()): Clock {
  let offset = start - performance.now();
  const now = () => Math.round(performance.now() + offset);
  return {
    now,
    ahead: () => Date.now() - now(),
    shift: (milliseconds) => void (offset += milliseconds),
  };
}

/** A smaller difference is drift: the clock follows it, and no time in the store has to. */
const stepMilliseconds = 1000;
/** What control planes that share a database write may be ahead by less. */
const sharedStepMilliseconds = minute;

/**
 * Follows the wall clock; where other control planes write times too, that of the database. At a
 * step of its own wall clock it moves the times in the store by as much, in one transaction, so that
 * a worker that was heard of five seconds ago still was. Returns that step; 0 when there was none.
 */
export async function followClock(
  { store }: Pick<Context, "store">,
  clock: Clock,
): Promise<number> {
  if (store.isShared) {
    await followDatabase(store, clock);
    return 0;
  }
  const step = clock.ahead();
  if (Math.abs(step) < stepMilliseconds) {
    clock.shift(step);
    return 0;
  }
  let shifted = 0;
  const shiftTo = (milliseconds: number) => {
    clock.shift(milliseconds - shifted);
    shifted = milliseconds;
  };
  try {
    await store.write(async (tx) => {
      shiftTo(0);
      await moveTimes(tx, step, clock.now());
      // Inside: what other changes of this transaction write after this is in the new time.
      shiftTo(step);
      if (step >= 0) return;
      await clampFuture(tx, clock.now());
      await lookAgain(tx, clock.now());
    });
  } catch (error) {
    shiftTo(0);
    throw error;
  }
  return step;
}

/**
 * A machine that was suspended has a clock that stood still, and what it writes would look old to
 * other control planes: nothing in the store is moved. If the clock of the database was set back,
 * each control plane that notices it settles what was written before, also by those that have not.
 */
async function followDatabase(store: Context["store"], clock: Clock): Promise<void> {
  const before = clock.now();
  const now = await findNow(store.read);
  // A late response says nothing of the present, for example if the process was stopped.
  if (clock.now() - before >= stepMilliseconds) return;
  if (before - now >= sharedStepMilliseconds) await store.write((tx) => settle(tx, now));
  if (Math.abs(now - before) >= stepMilliseconds) clock.shift(now - before);
}

/** After a step back while the server was away. Returns whether a time was in the future. */
export async function settleClock({
  store,
  now,
}: Pick<Context, "store" | "now">): Promise<boolean> {
  return store.write(async (tx) => {
    const least = store.isShared ? sharedStepMilliseconds : 0;
    const isAhead = await isAnyInFuture(tx, now() + least);
    if (isAhead) await settle(tx, now());
    return isAhead;
  });
}

async function settle(tx: Queries, now: number): Promise<void> {
  await clampFuture(tx, now);
  await clampDue(tx, now);
  await lookAgain(tx, now);
}
