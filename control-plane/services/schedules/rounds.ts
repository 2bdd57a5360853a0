/**
 * The rounds of schedules. Each server makes them, without a leader. When a schedule has come, each of
 * its configurations gets a run, in the transaction in which the schedule moves on to its next time;
 * a run that is due gets its job in the transaction that notes the job. So a server that is killed, or
 * a second one at the same moment, neither loses nor repeats a run.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { minute, second } from "../../../common/units.ts";
import { time } from "../../domain/moments.ts";
import { nextMoment, spreadFrom, spreadOf } from "../../domain/schedule-times.ts";
import { findLiveSpec } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findFact, restoredAt } from "../../store/facts.ts";
import {
  findDueOwners,
  findDueRuns,
  findDueSchedules,
  findRun,
  findSpecsOfZone,
  saveRun,
} from "../../store/schedules/rounds.ts";
import {
  findAnySchedule,
  updateSchedule,
  type ScheduleRow,
} from "../../store/schedules/schedules.ts";
import type { ScheduleOutcome } from "../../wakeups/wakeups.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { recordEvent } from "../events/record.ts";
import { Turns } from "../storage/turns.ts";
import { findRow, viewSchedule } from "./schedules.ts";
import { delayRun, noteSkipped, queueRun, scheduleActor, stillOpen } from "./queue-run.ts";

/** How many configurations of a zone get their runs in one transaction. */
const runsAtOnce = 50;
const schedulesAtOnce = 50;
const ownersAtOnce = 100;
const restored = "the server was restored from a backup after this time";
/** How many jobs of a space are queued before those of the next one. */
const jobsOfOwner = 5;
/** After so long a round ends, and the next one goes on. */
const roundMilliseconds = 10 * second;

/** Returns a function that makes one round. It starts where the one before has ended. */
export function scheduleRounds(context: Context, stop: AbortSignal): () => Promise<void> {
  const { store, now } = context;
  let after = "";
  return async () => {
    const until = now() + roundMilliseconds;
    // The other half is for runs that are due, however many schedules have come.
    const half = until - roundMilliseconds / 2;
    const goesOn = () => !stop.aborted && now() < until;
    const failures: unknown[] = [];
    const dare = async (work: () => Promise<unknown>, recover: () => Promise<unknown>) => {
      try {
        await work();
      } catch (error) {
        failures.push(error);
        // One that fails keeps no other one waiting.
        await recover();
      }
    };
    const turns = new Turns(stop);
    for (let more = true; more && goesOn() && now() < half;) {
      const due = await store.read.all(findDueSchedules, { now: now(), limit: schedulesAtOnce });
      more = due.length > 0;
      for (const { id } of due)
        if (now() < half && (await turns.next()))
          await dare(
            () => comes(context, id),
            () => store.write((tx) => updateSchedule(tx, id, { look_at: now() + minute })),
          );
    }
    while (goesOn()) {
      const query = { after, now: now(), limit: ownersAtOnce };
      const owners = await store.read.all(findDueOwners, query);
      if (owners.length === 0 && after === "") break;
      // Behind the last space comes the first one.
      if (owners.length === 0) after = "";
      for (const { owner_id: owner } of owners) {
        if (!goesOn()) break;
        after = owner;
        const runs = { owner, now: now(), limit: jobsOfOwner };
        for (const run of await store.read.all(findDueRuns, runs))
          if (goesOn())
            await dare(
              () => queueRun(context, run),
              () => delayRun(context, run),
            );
      }
    }
    if (failures.length > 0)
      throw new AggregateError(failures, (failures[0] as Error).message, { cause: failures[0] });
  };
}

/** Gives a schedule that has come its runs: of a zone those of some configurations, and then of more. */
async function comes({ store, now, wakeups }: Context, id: string): Promise<void> {
  let skipped: ScheduleOutcome[] = [];
  await store.write(async (tx) => {
    skipped = [];
    const at = now();
    const schedule = await tx.first(findAnySchedule, { id });
    if (!schedule || schedule.look_at === null || schedule.look_at > at) return;
    const { moment, warn_at } = schedule;
    if (warn_at !== null && warn_at <= at) await announce(tx, schedule, at);
    if (moment === null || moment > at) return waitOn(tx, schedule, at);
    // What has come since a backup may have run: nothing is repeated after a restore.
    const restoredTime = Number((await findFact(tx, restoredAt)) ?? 0);
    const isPast = moment <= restoredTime && restoredTime <= at;
    const { window_minutes } = schedule;
    const from = spreadFrom(moment, window_minutes, at);
    const specs = isPast ? [] : await specsOf(tx, schedule, schedule.spread_to ?? "");
    if (isPast) skipped.push("restored");
    for (const spec of specs) {
      const isSkipped = await startRun(tx, schedule, spec, {
        moment,
        due_at: from + spreadOf(id, spec, window_minutes),
        author_id: schedule.author_id,
        queue_class: 2,
        at,
      });
      if (isSkipped) skipped.push("still_open");
    }
    if (schedule.zone_id !== null && specs.length === runsAtOnce)
      // Others that have come go first.
      return updateSchedule(tx, id, { spread_to: specs.at(-1) ?? null, look_at: at });
    // Once, however many times have passed; and never twice for one time if the clock is set back.
    const next =
      schedule.cron === null
        ? null
        : nextMoment({ ...schedule, cron: schedule.cron }, Math.max(at, moment));
    return updateSchedule(tx, id, {
      moment: next,
      look_at: next,
      warn_at: null,
      spread_to: null,
      ...(isPast ? { last_at: at, last_job_id: null, last_skipped: restored } : {}),
    });
  });
  for (const outcome of skipped) wakeups.notify("schedule_run", outcome);
}

/** Looks again when it comes, which is earlier than it was if the clock has been set back. */
function waitOn(tx: Queries, schedule: ScheduleRow, at: number): Promise<void> {
  const { id, cron } = schedule;
  const moment = cron === null ? schedule.moment : nextMoment({ ...schedule, cron }, at);
  const warn_at = (schedule.warn_at ?? 0) > at ? schedule.warn_at : null;
  return updateSchedule(tx, id, {
    moment,
    warn_at,
    look_at: warn_at ?? moment,
    ...(moment === schedule.moment ? {} : { spread_to: null }),
  });
}

async function specsOf(
  tx: Queries,
  { spec_id, zone_id }: ScheduleRow,
  after: string,
): Promise<string[]> {
  if (zone_id !== null) {
    const query = { zone: zone_id, after, limit: runsAtOnce };
    return (await tx.all(findSpecsOfZone, query)).map(({ id }) => id);
  }
  return spec_id !== null && (await tx.first(findLiveSpec, { id: spec_id })) ? [spec_id] : [];
}

interface Start {
  readonly moment: number;
  readonly due_at: number;
  readonly author_id: string | null;
  readonly queue_class: 0 | 2;
  readonly at: number;
}

/** Returns whether it was skipped, because an earlier one is open. */
async function startRun(
  tx: Queries,
  schedule: ScheduleRow,
  spec_id: string,
  { at, ...start }: Start,
): Promise<boolean> {
  const { id: schedule_id, owner_id } = schedule;
  const before = await tx.first(findRun, { schedule: schedule_id, spec: spec_id });
  // One of a time that has not come was queued before the clock was set back.
  if (before && before.moment >= start.moment && before.moment <= at) return false;
  if (before?.open === 1) {
    await noteSkipped(tx, schedule, before, stillOpen, at);
    return true;
  }
  const none = { plan_job_id: null, job_id: null, skipped: null };
  await saveRun(tx, { schedule_id, spec_id, owner_id, ...start, ...none });
  return false;
}

async function announce(tx: Queries, schedule: ScheduleRow, now: number): Promise<void> {
  const { owner_id: owner, spec_id: configuration, moment, last_at } = schedule;
  if (moment === null || last_at !== null) return;
  await recordEvent(tx, now, {
    type: "schedule.expires",
    owner,
    configuration,
    by: scheduleActor(schedule),
    data: { expires_at: time(moment) },
  });
}

/** POST /api/cli/schedules/{id}/run. */
export async function runSchedule(context: Context, user: UserCaller, id: string) {
  const { store, now, wakeups } = context;
  const at = now();
  const start = { moment: at, due_at: at, author_id: user.user_id, queue_class: 0, at } as const;
  // Of a zone with thousands of configurations; all of them, also while the server drains. Pauses
  // for other changes would take a second of the request, and these are made between two anyway.
  for (let after: string | undefined = ""; after !== undefined;) {
    if (after !== "") await nextTurn();
    const from: string = after;
    let skipped = 0;
    after = await store.write(async (tx) => {
      skipped = 0;
      const schedule = await findRow(tx, user, id);
      const { name } = schedule;
      if (from === "") await recordOwn(tx, user, { action: "schedule.run", id, name }, at);
      const specs = await specsOf(tx, schedule, from);
      for (const spec of specs) if (await startRun(tx, schedule, spec, start)) skipped += 1;
      return schedule.zone_id !== null && specs.length === runsAtOnce ? specs.at(-1) : undefined;
    });
    for (; skipped > 0; skipped -= 1) wakeups.notify("schedule_run", "still_open");
  }
  const { spec_id: spec } = await findRow(store.read, user, id);
  if (spec !== null) {
    const run = await store.read.first(findRun, { schedule: id, spec });
    if (run?.due_at === at) await queueRun(context, run);
  }
  return viewSchedule(await findRow(store.read, user, id));
}
