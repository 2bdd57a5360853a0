/** When a schedule comes, and when in its window a configuration has its turn. Pure. */
import { createHash } from "node:crypto";
import { minute, second } from "../../common/units.ts";
import { parseCron } from "./cron.ts";

/** Epoch milliseconds. */
interface ScheduleTimes {
  readonly cron: string;
  readonly timezone: string;
  readonly starts_at: number | null;
  readonly ends_at: number | null;
}

/** The first time after `after`; null: it does not come any more. Throws 400 if it is not valid. */
export function nextMoment(
  { cron, timezone, starts_at, ends_at }: ScheduleTimes,
  after: number,
): number | null {
  const next = parseCron(cron, timezone).nextAfter(Math.max(after, (starts_at ?? 1) - 1));
  return next === null || (ends_at !== null && next > ends_at) ? null : next;
}

/** How far into the window a configuration has its turn: always the same second of it. */
export function spreadOf(schedule: string, spec: string, windowMinutes: number): number {
  if (windowMinutes === 0) return 0;
  const hash = createHash("sha256").update(`${schedule} ${spec}`).digest().readUInt32BE();
  return (hash % ((windowMinutes * minute) / second)) * second;
}

/**
 * From when the runs of a time are spread. After a downtime that has outlasted the window that is now:
 * all at once would be what the window avoids.
 */
export const spreadFrom = (moment: number, windowMinutes: number, now: number): number =>
  moment + windowMinutes * minute < now ? now : moment;
