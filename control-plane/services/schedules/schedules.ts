import { v7 as uuid } from "uuid";
import type { CreateSchedule, Schedule, UpdateSchedule } from "../../../protocol/schedules.ts";
import { momentOf, time, timeOrNull } from "../../domain/moments.ts";
import { checkRoom, invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { checkPermission } from "../../domain/roles.ts";
import { nextMoment } from "../../domain/schedule-times.ts";
import { findSpecBriefly } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { dropDueRuns } from "../../store/schedules/rounds.ts";
import {
  deleteSchedule as deleteRow,
  findSchedule,
  findScheduleByName,
  insertSchedule,
  newSchedule,
  listSchedules as listRows,
  updateSchedule as updateRow,
  type ScheduleRow,
} from "../../store/schedules/schedules.ts";
import { asSystem } from "../../store/spaces.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { checkedIn } from "../teams/spaces.ts";
import { checkPlace } from "../zones/places.ts";

/** How many schedules a space may have. */
export const schedulesLimit = 500;

export async function createSchedule(
  { store, now }: Context,
  user: UserCaller,
  input: CreateSchedule,
): Promise<Schedule> {
  const { space_id: owner_id } = user;
  const [id, at] = [uuid(), now()];
  const row = changed(
    {
      ...newSchedule,
      id,
      owner_id,
      name: input.name,
      kind: input.kind,
      cron: input.cron,
      timezone: input.timezone,
      author_id: user.user_id,
      created_at: at,
      updated_at: at,
    },
    input,
    at,
  );
  // A page names the target only here.
  const target =
    row.spec_id === null
      ? { kind: "zones", id: row.zone_id! }
      : { kind: "configurations", id: row.spec_id };
  checkKind(await checkedIn(store, user, target, "configure"), row);
  await store.write(async (tx) => {
    await checkPlace(tx, row);
    await checkName(tx, row);
    // As the system: also those that the caller does not see.
    const others = await asSystem(() => listRows(tx, owner_id, {}, undefined, schedulesLimit));
    checkRoom(
      others.length,
      schedulesLimit,
      `this space has ${schedulesLimit} schedules`,
      "delete some of them",
    );
    await insertSchedule(tx, row);
    await recordOwn(tx, user, { action: "schedule.create", id, name: row.name }, at);
  });
  return viewSchedule(row);
}

export interface ScheduleFilter {
  /** Also by the schedules of its zone. */
  readonly configuration_id?: string | undefined;
  readonly zone_id?: string | undefined;
}

export async function listSchedules(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  { configuration_id, zone_id }: ScheduleFilter,
  before: string | undefined,
  limit: number,
): Promise<Schedule[]> {
  const spec =
    configuration_id && (await read.first(findSpecBriefly, { id: configuration_id, owner }));
  if (configuration_id !== undefined && !spec) return [];
  const target = { ...(spec ? { spec: { id: spec.id, zone: spec.zone_id } } : {}), zone: zone_id };
  return (await listRows(read, owner, target, before, limit)).map(viewSchedule);
}

/** How many of its next times a form shows. */
const timesShown = 5;

/** When a schedule with these fields comes next, before it is spread. Throws 400. */
export function nextTimes(
  { now }: Pick<Context, "now">,
  {
    starts_at,
    ends_at,
    ...fields
  }: Pick<CreateSchedule, "cron" | "timezone" | "starts_at" | "ends_at">,
): string[] {
  const times = {
    ...fields,
    starts_at: momentOf("body.starts_at", starts_at ?? undefined) ?? null,
    ends_at: momentOf("body.ends_at", ends_at ?? undefined) ?? null,
  };
  const found: number[] = [];
  for (let at: number | null = now(); found.length < timesShown; found.push(at)) {
    at = nextMoment(times, at);
    if (at === null) break;
  }
  return found.map(time);
}

export async function getSchedule(
  { store: { read } }: Context,
  user: UserCaller,
  id: string,
): Promise<Schedule> {
  return viewSchedule(await findRow(read, user, id));
}

/** What decides when and what it runs. A change of it drops the runs that wait for their minute. */
const deciding = [
  "kind",
  "spec_id",
  "zone_id",
  "cron",
  "timezone",
  "window_minutes",
  "starts_at",
  "ends_at",
  "enabled",
] as const;

export async function updateSchedule(
  { store, now }: Context,
  user: UserCaller,
  id: string,
  input: UpdateSchedule,
): Promise<Schedule> {
  return store.write(async (tx) => {
    const before = await findRow(tx, user, id);
    const fields = Object.keys(input);
    if (fields.length === 0) return viewSchedule(before);
    const at = now();
    const asked = changed(before, input, at);
    const isOther = deciding.some((name) => asked[name] !== before[name]);
    const after = isOther
      ? { ...asked, author_id: user.user_id, updated_at: at }
      : { ...before, name: asked.name, updated_at: at };
    if (isOther) {
      if (after.enabled === 1) for (const one of [before, after]) checkKind(user, one);
      await checkPlace(tx, after);
      // The guard has judged by the target before.
      const named = { configuration_id: "configurations", zone_id: "zones" } as const;
      const other = (["configuration_id", "zone_id"] as const).find((name) => input[name]);
      if (other) {
        const target = { kind: named[other], id: input[other]! };
        checkKind(await checkedIn(store, user, target, "configure"), after);
      }
      await tx.run(dropDueRuns, { schedule: id });
    }
    if (after.name !== before.name) await checkName(tx, after);
    await updateRow(tx, id, after);
    const target = { id, name: after.name, details: { fields } };
    // Both targets are judged: that before by the guard, the new one above.
    const { place: _, ...judged } = user;
    await recordOwn(tx, judged, { action: "schedule.update", ...target }, at);
    return viewSchedule(after);
  });
}

export async function deleteSchedule(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  await store.write(async (tx) => {
    const row = await findRow(tx, user, id);
    await deleteRow(tx, id);
    await recordOwn(tx, user, { action: "schedule.delete", id, name: row.name }, now());
  });
}

export async function findRow(
  queries: Queries,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<ScheduleRow> {
  const row = await queries.first(findSchedule, { id, owner });
  if (!row) throw notFound("schedule");
  return row;
}

/** Returns the row with the fields of a request, and when it comes next. Throws 400. */
function changed(row: ScheduleRow, input: UpdateSchedule, now: number): ScheduleRow {
  const moment = (name: "starts_at" | "ends_at"): number | null => {
    const given = input[name];
    if (given === undefined) return row[name];
    return given === null ? null : (momentOf(`body.${name}`, given) ?? null);
  };
  const { configuration_id, zone_id, enabled } = input;
  // One target replaces the other.
  const target = {
    spec_id: configuration_id === undefined ? (zone_id ? null : row.spec_id) : configuration_id,
    zone_id: zone_id === undefined ? (configuration_id ? null : row.zone_id) : zone_id,
  };
  if ((target.spec_id === null) === (target.zone_id === null))
    throw invalid("body.configuration_id", "or zone_id must be there, and not both");
  const after = {
    ...row,
    name: input.name ?? row.name,
    kind: input.kind ?? row.kind,
    ...target,
    cron: input.cron ?? row.cron ?? "",
    timezone: input.timezone ?? row.timezone,
    window_minutes: input.window_minutes ?? row.window_minutes,
    starts_at: moment("starts_at"),
    ends_at: moment("ends_at"),
    enabled: enabled === undefined ? row.enabled : enabled ? (1 as const) : (0 as const),
  };
  const next = nextMoment(after, now);
  const mayEnd = input.ends_at ?? input.starts_at ?? input.cron ?? input.timezone;
  if (next === null && mayEnd !== undefined && mayEnd !== null)
    throw invalid("body.ends_at", "is before the schedule comes for the first time");
  const comes = after.enabled === 1 ? next : null;
  return { ...after, moment: comes, look_at: comes, spread_to: null };
}

/** What deploys or destroys needs the right to do that. */
function checkKind(user: UserCaller, { kind }: ScheduleRow): void {
  if (kind === "deploy" || kind === "destroy") checkPermission(user, "deploy");
}

async function checkName(tx: Queries, { name, owner_id: owner }: ScheduleRow): Promise<void> {
  if (await tx.first(findScheduleByName, { name, owner }))
    throw new RefusalError("name_taken", `the schedule "${name}" already exists`);
}

export const viewSchedule = (row: ScheduleRow): Schedule => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  configuration_id: row.spec_id,
  zone_id: row.zone_id,
  cron: row.cron ?? "",
  timezone: row.timezone,
  window_minutes: row.window_minutes,
  starts_at: timeOrNull(row.starts_at),
  ends_at: timeOrNull(row.ends_at),
  enabled: row.enabled === 1,
  next_at: timeOrNull(row.moment),
  last:
    row.last_at === null
      ? null
      : {
          at: time(row.last_at),
          ...(row.last_job_id === null ? {} : { job_id: row.last_job_id }),
          ...(row.last_skipped === null ? {} : { skipped: row.last_skipped }),
        },
  created_at: time(row.created_at),
  updated_at: time(row.updated_at),
});
