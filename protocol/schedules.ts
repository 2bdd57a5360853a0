/** Schedules: jobs that are queued at times of the clock. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  about,
  Name,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  StoredName,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { scheduleWindowLimit } from "./limits.ts";

const scheduleKinds = ["drift", "plan", "deploy", "destroy"] as const;
export const ScheduleKind = OneOf(scheduleKinds);
export type ScheduleKind = Static<typeof ScheduleKind>;

const Cron = Type.String({
  minLength: 1,
  maxLength: 200,
  description:
    "Five fields: minute, hour, day of the month, month, day of the week, of numbers (or the English names of months and days in three letters) with `*`, `,`, `-` and `/`. If both day fields are restricted, either matches. Seconds, macros such as `@daily`, `L`, `W`, `#` and `?` are refused, and so is a date that never comes.",
  examples: ["0 6 * * 1-5"],
});
const Timezone = Type.String({
  minLength: 1,
  maxLength: 100,
  description: "A name of the IANA time zone database.",
  examples: ["Europe/Berlin"],
});

const fields = {
  window_minutes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: scheduleWindowLimit,
      description:
        "Over how many minutes the runs are spread: each configuration has its own minute in it, which stays the same. Default: 0.",
    }),
  ),
  starts_at: Type.Optional(about(Nullable(Timestamp), "It does not come before this time.")),
  ends_at: Type.Optional(about(Nullable(Timestamp), "It does not come after this time.")),
  enabled: Type.Optional(about(Type.Boolean(), "Default: true.")),
};
const target = {
  configuration_id: Type.Optional(about(Nullable(Uuid), "The configuration, or a `zone_id`.")),
  zone_id: Type.Optional(
    about(Nullable(Uuid), "The zone, for each of its configurations; or a `configuration_id`."),
  ),
};

export const Schedule = Type.Object({
  id: Uuid,
  name: StoredName,
  kind: ScheduleKind,
  configuration_id: Nullable(Uuid),
  zone_id: Nullable(Uuid),
  cron: Type.String(),
  timezone: Type.String(),
  window_minutes: Type.Integer(),
  starts_at: Nullable(Timestamp),
  ends_at: Nullable(Timestamp),
  enabled: Type.Boolean(),
  next_at: about(
    Nullable(Timestamp),
    "When it comes next, before it is spread; null if it does not.",
  ),
  last: about(
    Nullable(
      Type.Object({
        at: Timestamp,
        job_id: Type.Optional(about(Uuid, "The job that was queued.")),
        skipped: Type.Optional(about(Type.String(), "Why none was.")),
      }),
    ),
    "What it did last; of a zone, for the last one of its configurations.",
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Schedule = Static<typeof Schedule>;

export const CreateSchedule = Type.Object(
  {
    name: Name,
    kind: about(
      ScheduleKind,
      "`deploy` and `destroy` need the role for that too. Under an approval rule they queue a PLAN and then its DEPLOY, which waits for the approvals.",
    ),
    ...target,
    cron: Cron,
    timezone: Timezone,
    ...fields,
  },
  { additionalProperties: false },
);
export type CreateSchedule = Static<typeof CreateSchedule>;

export const UpdateSchedule = Type.Object(
  {
    name: Type.Optional(Name),
    kind: Type.Optional(ScheduleKind),
    ...target,
    cron: Type.Optional(Cron),
    timezone: Type.Optional(Timezone),
    ...fields,
  },
  { additionalProperties: false },
);
export type UpdateSchedule = Static<typeof UpdateSchedule>;

/** Who created a job. */
export const creatorFields = {
  created_by: about(
    Nullable(Type.String()),
    "The name of the person who created it, as in the audit log, or of the connection or schedule that did; null if this is not known.",
  ),
  schedule: Type.Optional(
    about(
      Nullable(Type.Object({ id: Uuid, name: StoredName })),
      "The schedule that queued the job, by the name that it had then. Of the end of a configuration (`expires_at`), the id of the configuration.",
    ),
  ),
};

const params = { id: about(Uuid, "The schedule.") };

export const scheduleEndpoints = {
  listSchedules: endpoint("GET /api/cli/schedules", {
    summary: "List schedules, newest first",
    permission: "read",
    inZones: true,
    query: {
      configuration_id: Type.Optional(
        about(Uuid, "Only those that run this configuration: its own, and those of its zone."),
      ),
      zone_id: Type.Optional(about(Uuid, "Only those of this zone.")),
      ...Paging,
    },
    answer: Type.Object({ schedules: Type.Array(Schedule), next_cursor: NextCursor }),
  }),
  createSchedule: endpoint("POST /api/cli/schedules", {
    summary: "Create a schedule",
    description:
      "After a downtime it comes once, not for each time that was missed. A run is skipped while an earlier one of the same schedule and configuration waits or runs. A time that daylight saving skips comes at the next valid minute, and one that occurs twice comes once; with `*` or a step in the hour, every real hour counts.",
    permission: "configure",
    inZones: true,
    belongsTo: { configuration_id: "configurations", zone_id: "zones" },
    body: CreateSchedule,
    status: 201,
    answer: Schedule,
    refusals: ["not_found", "name_taken", "quota_exceeded"],
  }),
  getSchedule: endpoint("GET /api/cli/schedules/{id}", {
    summary: "Read a schedule",
    permission: "read",
    inZones: true,
    params,
    answer: Schedule,
  }),
  updateSchedule: endpoint("PATCH /api/cli/schedules/{id}", {
    summary: "Change a schedule",
    description: "A change of when or what it runs drops runs that wait for their minute.",
    permission: "configure",
    inZones: true,
    params,
    body: UpdateSchedule,
    answer: Schedule,
    refusals: ["name_taken"],
  }),
  deleteSchedule: endpoint("DELETE /api/cli/schedules/{id}", {
    summary: "Delete a schedule; its jobs stay",
    permission: "configure",
    inZones: true,
    params,
  }),
  runSchedule: endpoint("POST /api/cli/schedules/{id}/run", {
    summary: "Queue the jobs of a schedule now",
    description:
      "Of a zone, for each of its configurations, without the window. `last` says what was queued, or why nothing was.",
    permission: "deploy",
    inZones: true,
    params,
    answer: Schedule,
  }),
};
