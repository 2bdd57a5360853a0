/** Schedules over HTTP: what people make, change and run. */
import { expect } from "vitest";
import { addSpec } from "../../../helpers/plane/rows.ts";
import { readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { endJobs, schedule, steppedClock } from "../../../helpers/plane/schedules.ts";

const { it, plane } = planeForFile();

it("shows when it comes next, in its zone", async ({ client, spec }) => {
  const made = await schedule(client, {
    configuration_id: spec,
    cron: "30 6 * * 1-5",
    timezone: "Europe/Berlin",
    window_minutes: 30,
  });
  expect(made).toMatchObject({
    kind: "plan",
    configuration_id: spec,
    zone_id: null,
    next_at: "2027-01-01T05:30:00.000Z",
    last: null,
    enabled: true,
  });
  expect((await client.call("listSchedules")).schedules).toEqual([made]);
  const params = { id: made.id };
  const off = await client.call("updateSchedule", { params, body: { enabled: false } });
  expect(off).toMatchObject({ enabled: false, next_at: null });
  const later = await client.call("updateSchedule", {
    params,
    body: { enabled: true, cron: "0 7 * * *", starts_at: "2028-02-01T00:00:00Z" },
  });
  expect(later.next_at).toBe("2028-02-01T06:00:00.000Z");
});

it("refuses what never comes, what is not there and what is taken, and changes nothing", async ({
  client,
  spec,
  owner,
  otherClient,
}) => {
  const body = { name: "n", kind: "plan", cron: "0 6 * * *", timezone: "UTC" } as const;
  const refusal = (change: object) =>
    client.refusal("createSchedule", { body: { ...body, configuration_id: spec, ...change } });
  for (const change of [
    { cron: "0 0 30 2 *" },
    { cron: "@daily" },
    { cron: "0 6 * *" },
    { timezone: "Mars/Olympus" },
    { timezone: "+02:00" },
    { window_minutes: 1441 },
    { configuration_id: null },
    { zone_id: owner.zone },
    { ends_at: "2020-01-01T00:00:00Z" },
    { starts_at: "2027-01-02T00:00:00Z", ends_at: "2027-01-01T00:00:00Z" },
    { starts_at: "2027-02-30T00:00:00Z" },
  ])
    expect([change, await refusal(change)]).toEqual([change, "400 invalid_request"]);
  const other = await otherClient.call("createZone", { body: { name: "other" } });
  expect(await refusal({ configuration_id: null, zone_id: other.id })).toBe("404 not_found");
  expect((await client.call("listSchedules")).schedules).toEqual([]);
  await schedule(client, { configuration_id: spec, name: "n" });
  expect(await refusal({})).toBe("409 name_taken");
});

it("is found and changed only by members who may", async ({ client, otherClient, spec }) => {
  const { id } = await schedule(client, { configuration_id: spec });
  const params = { id };
  expect(await client.call("getSchedule", { params })).toMatchObject({ id });
  expect(await otherClient.refusal("getSchedule", { params })).toBe("404 not_found");
  expect(await otherClient.refusal("runSchedule", { params })).toBe("404 not_found");
  expect(await otherClient.refusal("deleteSchedule", { params })).toBe("404 not_found");
  expect((await otherClient.call("listSchedules")).schedules).toEqual([]);
});

it("is listed by its configuration or its zone", async ({ client, owner, spec, otherClient }) => {
  const { id: elsewhere } = await client.call("createZone", { body: { name: "elsewhere" } });
  const own = await schedule(client, { configuration_id: spec, name: "own" });
  const ofZone = await schedule(client, { zone_id: owner.zone, name: "of its zone" });
  await schedule(client, { zone_id: elsewhere, name: "of another" });
  const listed = async (query: object, from = client) =>
    (await from.call("listSchedules", { query })).schedules.map(({ id }) => id);
  expect(await listed({ configuration_id: spec })).toEqual([ofZone.id, own.id]);
  expect(await listed({ zone_id: owner.zone })).toEqual([ofZone.id]);
  expect(await listed({ zone_id: elsewhere, configuration_id: spec })).toEqual([]);
  expect(await listed({ configuration_id: ofZone.id })).toEqual([]);
  expect(await listed({ configuration_id: spec }, otherClient)).toEqual([]);
});

it("may be had 500 times in a space", async ({ client, owner, spec }) => {
  const { id: first } = await schedule(client, { configuration_id: spec });
  const row = await readRow(plane, "schedules", { id: first });
  const others = Array.from({ length: 499 }, (_, index) => ({
    ...row,
    id: `${row.id.slice(0, -4)}${String(index).padStart(4, "0")}`.replace(/^./, "f"),
    name: `n${index}`,
    look_at: null,
  }));
  await plane.context.store.write((tx) => tx.sql.insertInto("schedules").values(others).execute());
  const body = { configuration_id: spec, name: "one more" };
  await expect(schedule(client, body)).rejects.toThrow("this space has 500 schedules");
  expect(await readRows(plane, "schedules", { owner_id: owner.id })).toHaveLength(500);
});

it("drops runs that wait for their minute when it is changed", async ({ client, spec }) => {
  const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
  const { id } = await schedule(client, { configuration_id: spec, window_minutes: 1440 });
  await clock.round();
  expect(await readRows(plane, "schedule_runs", { schedule_id: id })).toHaveLength(1);
  const params = { id };
  await client.call("updateSchedule", { params, body: { name: "renamed" } });
  expect(await readRows(plane, "schedule_runs", { schedule_id: id })).toHaveLength(1);
  await client.call("updateSchedule", { params, body: { enabled: false } });
  expect(await readRows(plane, "schedule_runs", { schedule_id: id })).toEqual([]);
});

it("is deleted with its runs, and its jobs stay", async ({ client, spec }) => {
  const { id } = await schedule(client, { configuration_id: spec });
  const { last } = await client.call("runSchedule", { params: { id } });
  await client.call("deleteSchedule", { params: { id } });
  expect(await readRows(plane, "schedule_runs", { schedule_id: id })).toEqual([]);
  const job = await client.call("getJob", { params: { id: last!.job_id! } });
  expect(job).toMatchObject({ status: "QUEUED", schedule: { id, name: "nightly" } });
});

it("queues now, for people, and skips what is still open", async ({ client, owner, spec }) => {
  const { id } = await schedule(client, { configuration_id: spec });
  const params = { id };
  const { last, next_at } = await client.call("runSchedule", { params });
  expect(next_at).toBe("2027-01-01T02:00:00.000Z");
  const job = await client.call("getJob", { params: { id: last!.job_id! } });
  expect(job).toMatchObject({
    job_type: "PLAN",
    created_by: "nightly (schedule)",
    schedule: { id, name: "nightly" },
  });
  expect(await readRow(plane, "jobs", { id: job.id })).toMatchObject({
    queue_class: 0,
    creator_id: owner.id,
  });
  const audited = await client.call("listAuditEntries", { query: { target_id: job.id } });
  expect(audited.audit_entries).toMatchObject([
    { action: "job.create", actor: { kind: "schedule", id, name: "nightly (schedule)" } },
  ]);
  const again = await client.call("runSchedule", { params });
  expect(again.last).toMatchObject({
    skipped: "an earlier run of the schedule still waits or runs",
  });
  await endJobs(plane, id);
  const third = await client.call("runSchedule", { params });
  expect(third.last?.job_id).not.toBe(job.id);
  expect(third.last?.skipped).toBeUndefined();
});

it("of a zone runs each of its configurations, and follows the zone to another space", async ({
  client,
  owner,
}) => {
  const specs = [];
  for (let count = 0; count < 3; count++) specs.push(await addSpec(plane.context.store, owner));
  const { id } = await schedule(client, { zone_id: owner.zone });
  await client.call("runSchedule", { params: { id } });
  await expect
    .poll(async () =>
      (await readRows(plane, "jobs", { schedule_id: id }))
        .map(({ spec_id }) => String(spec_id))
        .toSorted(),
    )
    .toEqual(specs.toSorted());
  await endJobs(plane, id);
  const team = await client.call("createTeam", { body: { name: `T ${id}` } });
  const params = { id: owner.zone };
  await client.call("updateZone", { params, body: { team: team.slug } });
  const [{ owner_id } = { owner_id: "" }] = await readRows(plane, "schedules", { id });
  expect(owner_id).not.toBe(owner.id);
  const runs = await readRows(plane, "schedule_runs", { schedule_id: id });
  expect(new Set(runs.map((run) => run.owner_id))).toEqual(new Set([owner_id]));
});

it("goes with its configuration when that is deleted", async ({ client, spec, owner }) => {
  const own = await schedule(client, { configuration_id: spec });
  const ofZone = await schedule(client, { zone_id: owner.zone, name: "zone" });
  await client.call("runSchedule", { params: { id: ofZone.id } });
  await expect.poll(() => readRows(plane, "jobs", { schedule_id: ofZone.id })).toHaveLength(1);
  await endJobs(plane, ofZone.id);
  await setRows(plane, "specs", { expires_at: 1 }, { id: spec });
  await client.call("deleteConfiguration", { params: { name: spec } });
  expect(await readRows(plane, "schedules", { id: own.id })).toEqual([]);
  expect(await readRows(plane, "schedule_runs", { spec_id: spec })).toEqual([]);
  expect(await client.call("getSchedule", { params: { id: ofZone.id } })).toMatchObject({
    zone_id: owner.zone,
  });
});
