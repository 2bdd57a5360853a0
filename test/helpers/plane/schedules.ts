/** Schedules under a clock that the test sets, and the rounds of a server by it. */
import { scheduleRounds } from "../../../control-plane/services/schedules/rounds.ts";
import type { Context } from "../../../control-plane/services/context.ts";
import type { CreateSchedule } from "../../../protocol/schedules.ts";
import { minute } from "../../../common/units.ts";
import type { Calls } from "./calls.ts";
import { readRows, setRows, type Plane } from "./plane.ts";

/** `start`: RFC 3339, later than the clock of the machine, whose own rounds then find nothing due. */
export function steppedClock(plane: Plane, start: string) {
  let at = Date.parse(start);
  const { signal } = new AbortController();
  /** A server with this clock. */
  const server = (context: Context = plane.context): (() => Promise<void>) =>
    scheduleRounds({ ...context, now: () => at }, signal);
  const round = server();
  return {
    server,
    round,
    now: () => at,
    set: (time: string) => void (at = Date.parse(time)),
    /** Makes a round each minute until this time, it included. */
    runUntil: async (time: string, step = minute) => {
      for (const end = Date.parse(time); at <= end; at += step) await round();
    },
  };
}

export const schedule = (client: Calls, body: Partial<CreateSchedule> = {}) =>
  client.call("createSchedule", {
    body: {
      name: "nightly",
      kind: "plan",
      cron: "0 2 * * *",
      timezone: "UTC",
      starts_at: "2027-01-01T00:00:00Z",
      ...body,
    },
  });

/** When the jobs of a schedule were queued, as UTC without seconds, the first one first. */
export async function queuedBy(plane: Plane, schedule_id: string): Promise<string[]> {
  const jobs = await readRows(plane, "jobs", { schedule_id });
  return jobs.map(({ created_at }) => new Date(created_at).toISOString().slice(0, 16)).toSorted();
}

/** Ends all open jobs of a schedule. */
export const endJobs = (plane: Plane, schedule_id: string): Promise<void> =>
  setRows(
    plane,
    "jobs",
    { status: "SUCCESS", started_at: 1, ended_at: 1, released_at: 1 },
    { schedule_id },
  );
