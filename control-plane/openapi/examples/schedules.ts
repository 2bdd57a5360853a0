import { CreateSchedule, Schedule, UpdateSchedule } from "../../../protocol/schedules.ts";
import { at, example, ids } from "./example.ts";

const nightly = {
  name: "nightly drift",
  kind: "drift",
  zone_id: ids.zone,
  cron: "0 2 * * *",
  timezone: "Europe/Berlin",
  window_minutes: 60,
} as const;

export const scheduleExamples = [
  example(Schedule, {
    id: ids.schedule,
    ...nightly,
    configuration_id: null,
    starts_at: null,
    ends_at: null,
    enabled: true,
    next_at: "2026-11-22T01:00:00.000Z",
    last: { at: at(10), job_id: ids.plan },
    created_at: at(2),
    updated_at: at(2),
  }),
  example(CreateSchedule, nightly),
  example(UpdateSchedule, { enabled: false }),
];
