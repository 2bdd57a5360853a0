/** Schedules of every standing, and configurations that expire, for sample pages. */
import type { CreateSchedule } from "../../../protocol/schedules.ts";
import { readRows, setRows, type Plane } from "../plane/plane.ts";
import type { SampleUser } from "../plane/sample-data.ts";

const minute = 60_000;
const hour = 60 * minute;

/** Adds them and returns name and path of each page. `spec`: a deployed configuration of `zone`. */
export async function addSampleSchedules(
  plane: Plane,
  { client }: SampleUser,
  { zone, spec }: { readonly zone: string; readonly spec: string },
): Promise<Record<string, string>> {
  const now = Date.now();
  const make = async (body: Pick<CreateSchedule, "name" | "kind"> & Partial<CreateSchedule>) => {
    const times = { cron: "0 2 * * *", timezone: "Europe/Berlin" };
    const target = body.zone_id === undefined ? { configuration_id: spec } : {};
    const { id } = await client.call("createSchedule", { body: { ...times, ...target, ...body } });
    return id;
  };
  const nightly = await make({
    name: "nightly drift",
    kind: "drift",
    zone_id: zone,
    window_minutes: 60,
    ends_at: "2099-12-31T23:00:00Z",
  });
  const [job] = await readRows(plane, "jobs", { spec_id: spec });
  await setRows(
    plane,
    "schedules",
    { last_at: now - 7 * hour, last_job_id: job?.id ?? null },
    { id: nightly },
  );
  const mornings = await make({ name: "mornings", kind: "deploy", cron: "0 7 * * 1-5" });
  const evenings = await make({ name: "evenings", kind: "destroy", cron: "0 19 * * 1-5" });
  const last_skipped = "an earlier run of the schedule still waits or runs";
  await setRows(plane, "schedules", { last_at: now - 4 * hour, last_skipped }, { id: evenings });
  await make({
    name: "plans of the release weeks",
    kind: "plan",
    cron: "*/20 8-17 * * 1-5",
    timezone: "America/Argentina/Buenos_Aires",
    enabled: false,
  });
  const end = now + 5 * hour;
  const expires_at = new Date(end).toISOString();
  await client.call("updateConfiguration", { params: { name: spec }, body: { expires_at } });
  // As if its warning was sent yesterday, so that the schedules' loop leaves the row alone.
  await setRows(plane, "schedules", { warn_at: null, look_at: end }, { id: spec });
  return {
    schedule: `/schedules/${nightly}`,
    "schedule-deploy": `/schedules/${mornings}`,
    "schedule-skipped": `/schedules/${evenings}`,
    "schedules-of-zone": `/schedules?place=zone:${zone}`,
    "configuration-expiring": `/configurations/${spec}`,
  };
}
