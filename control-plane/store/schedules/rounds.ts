/** SQL of the rounds: which schedules have come, and which of their runs are due. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { minute } from "../../../common/units.ts";
import { scheduleRunsBy, schedulesBy, specsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";
import type { ScheduleRow } from "./schedules.ts";

export type RunRow = Row<"schedule_runs">;

/** The one that waits longest first. */
export const findDueSchedules = statement<
  { now: number; limit: number },
  Pick<ScheduleRow, "id" | "look_at">
>((db, { now, limit }) =>
  db
    .selectFrom(schedulesBy("schedules_due"))
    .select(["id", "look_at"])
    .where("look_at", "is not", null)
    .where("look_at", "<=", now)
    .orderBy("look_at")
    .limit(limit),
);

/** When the first schedule, and the first run, is to be looked at. */
export const findFirstDue = statement<
  Record<string, never>,
  { schedule: number | null; run: number | null }
>((db) =>
  db.selectNoFrom((eb) => [
    eb
      .selectFrom(schedulesBy("schedules_due"))
      .select((one) => one.fn.min("look_at").as("first"))
      .where("look_at", "is not", null)
      .as("schedule"),
    eb
      .selectFrom(scheduleRunsBy("schedule_runs_due"))
      .select((one) => one.fn.min("due_at").as("first"))
      .where("due_at", "is not", null)
      .as("run"),
  ]),
);

/** Configurations of a zone, in the order of their ids. */
export const findSpecsOfZone = statement<
  { zone: string; after: string; limit: number },
  { id: string }
>((db, { zone, after, limit }) =>
  db
    .selectFrom(specsBy("specs_zone"))
    .select("id")
    .where("zone_id", "=", zone)
    .where("id", ">", after)
    .orderBy("id")
    .limit(limit),
);

/** Whether the run has a job that may run, or will have one. */
const isOpen = sql<number>`(case when schedule_runs.due_at is not null
    or (schedule_runs.plan_job_id is not null and schedule_runs.job_id is null)
    or exists (select 1 from jobs where jobs.id = schedule_runs.job_id and jobs.released_at is null)
  then 1 else 0 end)`;

/** A run, and whether it is open. */
export const findRun = statement<{ schedule: string; spec: string }, RunRow & { open: number }>(
  (db, { schedule, spec }) =>
    db
      .selectFrom("schedule_runs")
      .selectAll()
      .select(isOpen.as("open"))
      .where("schedule_id", "=", schedule)
      .where("spec_id", "=", spec),
);

export async function saveRun({ sql: db }: Queries, row: RunRow): Promise<void> {
  const { schedule_id: _, spec_id: _spec, ...change } = row;
  await db
    .insertInto("schedule_runs")
    .values(row)
    .onConflict((conflict) => conflict.columns(["schedule_id", "spec_id"]).doUpdateSet(change))
    .execute();
}

export async function updateRun(
  { sql: db }: Queries,
  { schedule_id, spec_id }: Pick<RunRow, "schedule_id" | "spec_id">,
  change: Partial<RunRow>,
): Promise<void> {
  await db
    .updateTable("schedule_runs")
    .set(change)
    .where("schedule_id", "=", schedule_id)
    .where("spec_id", "=", spec_id)
    .execute();
}

/** Drops what waits for its minute; a PLAN that people are to approve stays. */
export const dropDueRuns = statement<{ schedule: string }>((db, { schedule }) =>
  db
    .deleteFrom("schedule_runs")
    .where("schedule_id", "=", schedule)
    .where("due_at", "is not", null)
    .where("plan_job_id", "is", null),
);

/** Lets the due runs of a space that no person has asked for, and whose time came after `since`, wait. */
export const postponeRuns = statement<{
  owner: string;
  now: number;
  since: number;
  until: number;
}>((db, { owner, now, since, until }) =>
  db
    .updateTable("schedule_runs")
    .set({ due_at: until })
    .where("owner_id", "=", owner)
    .where("due_at", "is not", null)
    .where("due_at", "<=", now)
    .where("queue_class", ">", 0)
    .where("moment", ">", since),
);

/**
 * The spaces after this one that have due runs, in their order: from one to the next by the index, so
 * a space with many runs costs no more than one with few.
 */
export const findDueOwners = statement<
  { after: string; now: number; limit: number },
  { owner_id: string }
>((db, { after, now, limit }) => {
  const query = sql`with recursive owners(owner_id) as (
      select (select min(r.owner_id) from schedule_runs as r indexed by schedule_runs_due
        where r.due_at is not null and r.owner_id > ${after})
      union all
      select (select min(r.owner_id) from schedule_runs as r indexed by schedule_runs_due
        where r.due_at is not null and r.owner_id > owners.owner_id)
        from owners where owners.owner_id is not null)
    select owner_id from owners where owner_id is not null
      and (select min(r.due_at) from schedule_runs as r indexed by schedule_runs_due
        where r.owner_id = owners.owner_id and r.due_at is not null) <= ${now}
    limit ${limit}`;
  return { compile: () => query.compile(db) };
});

export const findDueRuns = statement<{ owner: string; now: number; limit: number }, RunRow>(
  (db, { owner, now, limit }) =>
    db
      .selectFrom(scheduleRunsBy("schedule_runs_due"))
      .selectAll()
      .where("owner_id", "=", owner)
      .where("due_at", "is not", null)
      .where("due_at", "<=", now)
      .orderBy("due_at")
      .limit(limit),
);

/** After the end of a PLAN: its DEPLOY may be due. */
export const wakeRun = statement<{ plan: string; now: number }>((db, { plan, now }) =>
  db
    .updateTable("schedule_runs")
    .set({ due_at: now })
    .where("plan_job_id", "=", plan)
    .where("job_id", "is", null),
);

/**
 * After the clock was set back: looks at every schedule again. What was to run for a time that has not
 * come is dropped, because that time comes again, and what waits longer than its window is due.
 */
export async function lookAgain({ sql: db }: Queries, now: number): Promise<void> {
  await db.updateTable("schedules").set({ look_at: now }).where("look_at", ">", now).execute();
  await db
    .deleteFrom("schedule_runs")
    .where("due_at", ">", now)
    .where("moment", ">", now)
    .where("plan_job_id", "is", null)
    .execute();
  const longest = sql<number>`(select cast(${now + minute} as bigint) + window_minutes * ${sql.lit(minute)}
    from schedules where schedules.id = schedule_runs.schedule_id)`;
  await db
    .updateTable("schedule_runs")
    .set({ due_at: now })
    .where("due_at", ">", longest)
    .execute();
}
