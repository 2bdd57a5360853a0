/** SQL of schedules: what people make and change. */
import type { Kysely } from "kysely";
import type { Queries } from "../db.ts";
import { schedulesBy } from "../indexed.ts";
import { isLimited, isSeen } from "../spaces.ts";
import { statement } from "../statement.ts";
import type { Row, Tables } from "../tables.ts";

export type ScheduleRow = Row<"schedules">;

/** Not of the ends of configurations, which have no cron expression. */
export const findSchedule = statement<{ id: string; owner: string }, ScheduleRow>(
  (db, { id, owner }) =>
    db
      .selectFrom("schedules")
      .selectAll()
      .where("id", "=", id)
      .where("owner_id", "=", owner)
      .where("cron", "is not", null),
);

/** Of any owner, and also the end of a configuration. */
export const findAnySchedule = statement<{ id: string }, ScheduleRow>((db, { id }) =>
  db.selectFrom("schedules").selectAll().where("id", "=", id),
);

export const findScheduleByName = statement<{ name: string; owner: string }, { id: string }>(
  (db, { name, owner }) =>
    db
      .selectFrom(schedulesBy("schedules_name"))
      .select("id")
      .where("owner_id", "=", owner)
      .where("name", "=", name)
      .where("cron", "is not", null),
);

interface Target {
  /** Those of the configuration, and of its zone. */
  readonly spec?: { readonly id: string; readonly zone: string };
  readonly zone?: string | undefined;
}

/** A space has few: the filters need no index. */
export function listSchedules(
  { sql: db }: Queries,
  owner: string,
  { spec, zone }: Target,
  before: string | undefined,
  limit: number,
): Promise<ScheduleRow[]> {
  let query = db
    .selectFrom(schedulesBy("schedules_owner"))
    .selectAll()
    .where("owner_id", "=", owner)
    .where("cron", "is not", null);
  if (spec !== undefined)
    query = query.where(({ eb, or }) =>
      or([eb("spec_id", "=", spec.id), eb("zone_id", "=", spec.zone)]),
    );
  if (zone !== undefined) query = query.where("zone_id", "=", zone);
  if (isLimited(owner))
    query = query.where((where) =>
      where.or([
        isSeen(owner, "schedules.zone_id", "schedules.spec_id"),
        where.exists(
          where
            .selectFrom("specs")
            .select("specs.id")
            .whereRef("specs.id", "=", "schedules.spec_id")
            .where(isSeen(owner, "specs.zone_id", "specs.id")),
        ),
      ]),
    );
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
}

/**
 * Those of a space whose last run was skipped. That there was nothing to check or to destroy is
 * nothing that needs a person.
 */
export const findSkippedSchedules = statement<
  { owner: string; limit: number },
  Pick<ScheduleRow, "id" | "name" | "last_at" | "last_skipped">
>((db, { owner, limit }) =>
  db
    .selectFrom(schedulesBy("schedules_owner"))
    .leftJoin("specs", "specs.id", "schedules.spec_id")
    .select(["schedules.id", "schedules.name", "last_at", "last_skipped"])
    .where("schedules.owner_id", "=", owner)
    .where("cron", "is not", null)
    .where("enabled", "=", 1)
    .where("last_skipped", "is not", null)
    .where(({ eb, or }) =>
      or([
        eb("schedules.spec_id", "is", null),
        eb("kind", "in", ["plan", "deploy"]),
        eb("specs.status", "not in", ["NEW", "DESTROYED"]),
      ]),
    )
    .orderBy("last_at", "desc")
    .limit(limit),
);

type EndRow = { id: string; name: string } & Pick<
  ScheduleRow,
  "moment" | "last_at" | "last_skipped"
>;

/** The ends of configurations of a space that may have something deployed. */
const ends = (db: Kysely<Tables>, owner: string, limit: number) =>
  db
    .selectFrom(schedulesBy("schedules_ends"))
    .innerJoin("specs", "specs.id", "schedules.spec_id")
    .select(["specs.id", "specs.name", "moment", "last_at", "last_skipped"])
    .where("schedules.owner_id", "=", owner)
    .where("cron", "is", null)
    .where("specs.status", "not in", ["NEW", "DESTROYED"])
    .limit(limit);

/** Those that come until then, the first one first. */
export const findComingEnds = statement<{ owner: string; until: number; limit: number }, EndRow>(
  (db, { owner, until, limit }) =>
    ends(db, owner, limit).where("moment", "<=", until).orderBy("moment"),
);

/** Those that have come and destroyed nothing. */
export const findFailedEnds = statement<{ owner: string; limit: number }, EndRow>(
  (db, { owner, limit }) =>
    ends(db, owner, limit).where("moment", "is", null).where("last_skipped", "is not", null),
);

/** What a new one has. */
export const newSchedule = {
  spec_id: null,
  zone_id: null,
  window_minutes: 0,
  starts_at: null,
  ends_at: null,
  enabled: 1,
  moment: null,
  look_at: null,
  warn_at: null,
  spread_to: null,
  last_at: null,
  last_job_id: null,
  last_skipped: null,
} as const;

export async function insertSchedule({ sql }: Queries, row: ScheduleRow): Promise<void> {
  await sql.insertInto("schedules").values(row).execute();
}

export async function updateSchedule(
  { sql }: Queries,
  id: string,
  change: Partial<ScheduleRow>,
): Promise<void> {
  await sql.updateTable("schedules").set(change).where("id", "=", id).execute();
}

/** Its runs go too. */
export async function deleteSchedule({ sql }: Queries, id: string): Promise<void> {
  await sql.deleteFrom("schedules").where("id", "=", id).execute();
}

/** Sets when a configuration is destroyed, in place of the time before; null: it is not. */
export async function saveExpiry({ sql }: Queries, id: string, at: number | null): Promise<void> {
  await sql.updateTable("specs").set({ expires_at: at }).where("id", "=", id).execute();
}
