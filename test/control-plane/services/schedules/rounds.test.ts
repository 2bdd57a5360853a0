/** What the rounds queue, under a stepped clock. */
import { describe, expect } from "vitest";
import type { Store } from "../../../../control-plane/store/db.ts";
import { removeFact, restoredAt, setFact } from "../../../../control-plane/store/facts.ts";
import { openPostgresBeside } from "../../../../control-plane/store/engines/postgres.ts";
import {
  addArtifact,
  addJob,
  addRule,
  addRows,
  addSpec,
  type Owner,
} from "../../../helpers/plane/rows.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { endJobs, queuedBy, schedule, steppedClock } from "../../../helpers/plane/schedules.ts";
import { hour, minute } from "../../../../common/units.ts";

const { it, plane } = planeForFile();

/** Adds a rule for the events of schedules: without one, none are recorded. */
const listen = (owner: Owner) => addRule(plane.context.store, owner, {});

const addDeployed = (owner: Owner, spec_id: string) =>
  addJob(plane.context.store, owner, {
    spec_id,
    job_type: "DEPLOY",
    status: "SUCCESS",
    started_at: 1,
    claimed_at: 1,
    released_at: 1,
  });

const berlin = (starts_at: string) => ({ timezone: "Europe/Berlin", starts_at });

describe("daylight saving", () => {
  it("in spring: what it skips runs when the clock goes on, once", async ({ client, spec }) => {
    const clock = steppedClock(plane, "2027-03-26T12:00:00Z");
    const { id } = await schedule(client, {
      configuration_id: spec,
      cron: "30 2 * * *",
      ...berlin("2027-03-26T12:00:00Z"),
    });
    for (const day of ["27", "28", "29"]) {
      await clock.runUntil(`2027-03-${day}T03:00:00Z`, 5 * minute);
      await endJobs(plane, id);
    }
    expect(await queuedBy(plane, id)).toEqual([
      "2027-03-27T01:30",
      "2027-03-28T01:00",
      "2027-03-29T00:30",
    ]);
  });

  it("in autumn: what occurs twice runs once, and each real hour counts with a star", async ({
    client,
    spec,
  }) => {
    const clock = steppedClock(plane, "2027-10-30T23:40:00Z");
    const times = berlin("2027-10-30T23:40:00Z");
    const fixed = await schedule(client, { configuration_id: spec, cron: "30 2 * * *", ...times });
    const each = await schedule(client, {
      configuration_id: spec,
      name: "each hour",
      cron: "30 * * * *",
      ...times,
    });
    for (const time of ["00:45", "01:45", "02:45"]) {
      await clock.runUntil(`2027-10-31T${time}:00Z`, 5 * minute);
      for (const { id } of [fixed, each]) await endJobs(plane, id);
    }
    expect(await queuedBy(plane, fixed.id)).toEqual(["2027-10-31T00:30"]);
    expect(await queuedBy(plane, each.id)).toEqual([
      "2027-10-31T00:30",
      "2027-10-31T01:30",
      "2027-10-31T02:30",
    ]);
  });
});

it("comes once after a downtime of ten runs", async ({ client, spec }) => {
  const clock = steppedClock(plane, "2027-01-01T00:00:00Z");
  const { id } = await schedule(client, { configuration_id: spec, cron: "0 * * * *" });
  clock.set("2027-01-01T10:20:00Z");
  await clock.round();
  await clock.round();
  expect(await queuedBy(plane, id)).toEqual(["2027-01-01T10:20"]);
  expect(await client.call("getSchedule", { params: { id } })).toMatchObject({
    next_at: "2027-01-01T11:00:00.000Z",
    last: { at: "2027-01-01T10:20:00.000Z" },
  });
});

it("does not come again if the clock is set back, nor twice if it is set forward", async ({
  client,
  spec,
}) => {
  const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
  const { id } = await schedule(client, { configuration_id: spec });
  await clock.round();
  await endJobs(plane, id);
  clock.set("2027-01-01T01:30:00Z");
  await clock.runUntil("2027-01-01T02:30:00Z", 10 * minute);
  expect(await queuedBy(plane, id)).toEqual(["2027-01-01T02:00"]);
  clock.set("2027-01-03T01:00:00Z");
  await clock.round();
  await endJobs(plane, id);
  await clock.round();
  expect(await queuedBy(plane, id)).toEqual(["2027-01-01T02:00", "2027-01-03T01:00"]);
});

it("skips a run while the one before is open, and says so once", async ({
  client,
  spec,
  owner,
}) => {
  await listen(owner);
  const clock = steppedClock(plane, "2027-01-01T00:00:00Z");
  const { id } = await schedule(client, {
    configuration_id: spec,
    cron: "0 * * * *",
    starts_at: "2027-01-01T00:10:00Z",
  });
  await clock.runUntil("2027-01-01T03:30:00Z", 10 * minute);
  expect(await queuedBy(plane, id)).toEqual(["2027-01-01T01:00"]);
  const { last } = await client.call("getSchedule", { params: { id } });
  expect(last).toEqual({
    at: "2027-01-01T03:00:00.000Z",
    skipped: "an earlier run of the schedule still waits or runs",
  });
  const events = await readRows(plane, "events", { owner_id: owner.id });
  expect(events.filter(({ type }) => type === "schedule.skipped")).toHaveLength(1);
  await endJobs(plane, id);
  await clock.runUntil("2027-01-01T04:10:00Z", 10 * minute);
  expect(await queuedBy(plane, id)).toEqual(["2027-01-01T01:00", "2027-01-01T04:00"]);
  const metrics = await (await fetch(`${plane.url}/metrics`)).text();
  for (const outcome of ["queued", "still_open"])
    expect(metrics).toMatch(
      new RegExp(`^windlass_schedule_runs_total\\{outcome="${outcome}"\\} ([2-9]|\\d\\d)`, "m"),
    );
  expect(metrics).toMatch(/^windlass_schedules_behind_seconds \d/m);
});

it("spreads 500 nightly jobs over the window, each at the same minute every night", async ({
  client,
  owner,
}) => {
  const { store } = plane.context;
  const first = await addSpec(store, owner);
  const row = await readRow(plane, "specs", { id: first });
  // PostgreSQL needs a commit for each on the disk.
  const all = store.isShared ? 60 : 500;
  const specs = Array.from({ length: all - 1 }, (_, index) => {
    const id = `1${first.slice(1, -3)}${index.toString(16).padStart(3, "0")}`;
    return { ...row, id, name: id, project_name: id, definition: row.definition };
  });
  await addRows(store, "specs", ...specs);
  await setRows(plane, "specs", { name: first }, { id: first });
  const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
  const { id } = await schedule(client, { zone_id: owner.zone, window_minutes: 60 });
  await clock.round();
  const due = await readRows(plane, "schedule_runs", { schedule_id: id });
  expect(due.length).toBeGreaterThan(all * 0.8);
  await clock.runUntil("2027-01-01T03:00:00Z", minute);
  const jobs = await readRows(plane, "jobs", { schedule_id: id });
  expect(jobs).toHaveLength(all);
  const minuteOf = (at: number) => Math.floor((at - Date.parse("2027-01-01T02:00:00Z")) / minute);
  const perMinute = Map.groupBy(jobs, ({ created_at }) => minuteOf(created_at));
  expect(perMinute.size).toBeGreaterThan(30);
  expect(Math.max(...[...perMinute.values()].map((all) => all.length))).toBeLessThan(40);
  await endJobs(plane, id);
  clock.set("2027-01-02T02:00:00Z");
  await clock.round();
  const again = await readRows(plane, "schedule_runs", { schedule_id: id });
  const shift = 24 * hour;
  expect(
    again.flatMap(({ spec_id, due_at }) => {
      // One whose minute is the first is queued by the round itself.
      const before = due.find((one) => one.spec_id === spec_id)?.due_at ?? null;
      return due_at !== null && before !== null && before !== due_at - shift ? [spec_id] : [];
    }),
  ).toEqual([]);
}, 120_000);

it("leaves half of the queue to people, and goes on when there is room", async ({
  client,
  owner,
}) => {
  const context = { ...plane.context, quotas: { ...plane.context.quotas, queuedJobs: 4 } };
  for (let count = 0; count < 5; count++) await addSpec(plane.context.store, owner);
  const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
  const round = clock.server(context);
  const { id } = await schedule(client, { zone_id: owner.zone });
  await round();
  expect(await queuedBy(plane, id)).toHaveLength(2);
  await endJobs(plane, id);
  clock.set("2027-01-01T02:01:00Z");
  await round();
  expect(await queuedBy(plane, id)).toHaveLength(4);
  clock.set("2027-01-02T01:59:00Z");
  await round();
  expect(await queuedBy(plane, id)).toHaveLength(4);
  clock.set("2027-01-02T02:00:30Z");
  await round();
  const { last } = await client.call("getSchedule", { params: { id } });
  expect(last?.skipped).toMatch(/have waited for a day|still waits or runs/);
});

describe("under an approval rule", () => {
  const rule = { approval_when: "always", approval_count: 1 } as const;
  const planned = async (plan: string) => {
    const plan_summary = JSON.stringify({
      ...emptySummary,
      counts: { ...emptySummary.counts, create: 1 },
    });
    await addRows(plane.context.store, "plan_summaries", { job_id: plan, plan_summary });
    await addArtifact(plane.context.store, plan);
  };

  it.for(["deploy", "destroy"] as const)(
    "a %s is planned, then waits for the approvals",
    async (kind, { client, spec, runner, worker, owner }) => {
      await setRows(plane, "specs", { ...rule, status: "DEPLOYED" }, { id: spec });
      await setRows(plane, "workers", { features: '["plan_options"]' }, { id: worker.id });
      const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
      const { id } = await schedule(client, { configuration_id: spec, kind });
      // Something was deployed.
      await addDeployed(owner, spec);
      await clock.round();
      const [plan] = await readRows(plane, "jobs", { schedule_id: id });
      expect(plan).toMatchObject({
        job_type: "PLAN",
        destroys: kind === "destroy" ? 1 : 0,
        created_by: "nightly (schedule)",
        creator_id: owner.id,
        queue_class: 2,
      });
      const claimed = await runner.call("claimJob");
      expect(claimed.job?.id).toBe(plan!.id);
      await planned(plan!.id);
      await runner.call("reportStatus", {
        params: { id: plan!.id },
        body: { status: "SUCCESS" },
      });
      // The next time comes while the deployment waits.
      await clock.round();
      clock.set("2027-01-02T02:00:00Z");
      await clock.round();
      const jobs = await readRows(plane, "jobs", { schedule_id: id });
      expect(jobs.map(({ job_type, unapproved }) => [job_type, unapproved])).toEqual([
        ["PLAN", 0],
        ["DEPLOY", 1],
      ]);
      expect(jobs[1]).toMatchObject({ plan_job_id: plan!.id, status: "QUEUED" });
      const { last } = await client.call("getSchedule", { params: { id } });
      expect(last?.skipped).toContain("still waits");
    },
  );
});

it("destroys without a rule by a DESTROY, and skips what was never deployed", async ({
  client,
  spec,
}) => {
  const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
  const { id } = await schedule(client, { configuration_id: spec, kind: "destroy" });
  await clock.round();
  expect(await queuedBy(plane, id)).toEqual([]);
  const { last } = await client.call("getSchedule", { params: { id } });
  expect(last?.skipped).toContain("there is nothing to destroy");
});

it("leaves out what is not deployed of a zone, without a word", async ({ client, owner }) => {
  await listen(owner);
  const { store } = plane.context;
  const deployed = await addSpec(store, owner);
  await addSpec(store, owner);
  await addDeployed(owner, deployed);
  await setRows(plane, "specs", { status: "DEPLOYED" }, { id: deployed });
  const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
  const { id } = await schedule(client, { zone_id: owner.zone, kind: "destroy" });
  await clock.round();
  expect(await readRows(plane, "jobs", { schedule_id: id })).toMatchObject([
    { spec_id: deployed, job_type: "DESTROY" },
  ]);
  const { last } = await client.call("getSchedule", { params: { id } });
  expect(last).toMatchObject({ job_id: expect.any(String) });
  expect(last).not.toHaveProperty("skipped");
  expect(await readRows(plane, "events", { owner_id: owner.id, type: "schedule.skipped" })).toEqual(
    [],
  );
});

it("leaves alone what has left the zone since the run began", async ({ client, owner }) => {
  const [stays, leaves] = [
    await addSpec(plane.context.store, owner),
    await addSpec(plane.context.store, owner),
  ];
  const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
  const { id } = await schedule(client, {
    zone_id: owner.zone,
    cron: "0 2 * * *",
    window_minutes: 60,
  });
  await clock.round();
  const other = await client.call("createZone", { body: { name: `other ${id}` } });
  await setRows(plane, "specs", { zone_id: other.id }, { id: leaves });
  await clock.runUntil("2027-01-01T03:01:00Z", 5 * minute);
  const planned = (await readRows(plane, "jobs", { schedule_id: id })).map(
    ({ spec_id }) => spec_id,
  );
  expect(planned).toContain(stays);
  expect(planned).not.toContain(leaves);
});

it("repeats nothing that may have run between a backup and its restore", async ({
  client,
  spec,
}) => {
  const clock = steppedClock(plane, "2027-01-01T01:59:00Z");
  const { id } = await schedule(client, { configuration_id: spec });
  const { store } = plane.context;
  const restored = String(Date.parse("2027-01-01T05:00:00Z"));
  await store.write((tx) => setFact(tx, restoredAt, restored));
  try {
    clock.set("2027-01-01T05:00:00Z");
    await clock.round();
    expect(await queuedBy(plane, id)).toEqual([]);
    const { last } = await client.call("getSchedule", { params: { id } });
    expect(last).toMatchObject({ skipped: expect.stringContaining("restored from a backup") });
    await clock.runUntil("2027-01-02T02:01:00Z", hour);
    clock.set("2027-01-02T02:01:00Z");
    await clock.round();
    expect(await queuedBy(plane, id)).toHaveLength(1);
  } finally {
    await store.write((tx) => removeFact(tx, restoredAt));
  }
});

it("ends when it is to end", async ({ client, spec }) => {
  const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
  const { id } = await schedule(client, {
    configuration_id: spec,
    ends_at: "2027-01-01T12:00:00Z",
  });
  await clock.round();
  const { next_at } = await client.call("getSchedule", { params: { id } });
  expect([next_at, await queuedBy(plane, id)]).toEqual([null, ["2027-01-01T02:00"]]);
});

describe("expires_at", () => {
  it("destroys what is deployed, announced once a day before", async ({ client, spec, owner }) => {
    await listen(owner);
    const params = { name: spec };
    const body = { expires_at: "2027-01-08T12:00:00.000Z" };
    expect(await client.call("updateConfiguration", { params, body })).toMatchObject(body);
    expect((await client.call("listSchedules")).schedules).toEqual([]);
    expect(await client.refusal("getSchedule", { params: { id: spec } })).toBe("404 not_found");
    const events = async () =>
      (await readRows(plane, "events", { owner_id: owner.id }))
        .map(({ type }) => type)
        .filter((type) => type.startsWith("schedule."));
    const clock = steppedClock(plane, "2027-01-07T11:00:00Z");
    await clock.runUntil("2027-01-07T11:50:00Z", 10 * minute);
    expect(await events()).toEqual([]);
    await clock.runUntil("2027-01-08T11:50:00Z", hour);
    expect(await events()).toEqual(["schedule.expires"]);
    await addDeployed(owner, spec);
    await setRows(plane, "specs", { status: "DEPLOYED" }, { id: spec });
    await clock.runUntil("2027-01-08T14:00:00Z", hour);
    const jobs = await readRows(plane, "jobs", { schedule_id: spec });
    expect(jobs).toMatchObject([{ job_type: "DESTROY", created_by: "expiry (schedule)" }]);
    const shown = await client.call("getJob", { params: { id: jobs[0]!.id } });
    expect(shown.schedule).toEqual({ id: spec, name: "expiry" });
  });

  it("is ended by null, and refused in the past", async ({ client, spec }) => {
    const params = { name: spec };
    const set = (expires_at: string | null) =>
      client.call("updateConfiguration", { params, body: { expires_at } });
    await set("2027-01-08T12:00:00.000Z");
    expect(await set(null)).toMatchObject({ expires_at: null });
    const clock = steppedClock(plane, "2027-01-09T12:00:00Z");
    await clock.round();
    expect(await readRows(plane, "jobs", { spec_id: spec })).toEqual([]);
    for (const expires_at of ["2020-01-01T00:00:00Z", "2090-01-01T00:00:00Z"])
      expect(await client.refusal("updateConfiguration", { params, body: { expires_at } })).toBe(
        "400 invalid_request",
      );
  });

  it("of what was never deployed destroys nothing, and says so", async ({
    client,
    spec,
    owner,
  }) => {
    await listen(owner);
    const params = { name: spec };
    await client.call("updateConfiguration", {
      params,
      body: { expires_at: "2027-01-08T12:00:00.000Z" },
    });
    const clock = steppedClock(plane, "2027-01-08T12:00:00Z");
    await clock.round();
    expect(await readRows(plane, "jobs", { spec_id: spec })).toEqual([]);
    const [event] = await readRows(plane, "events", {
      owner_id: owner.id,
      type: "schedule.skipped",
    });
    expect(event?.data).toContain("there is nothing to destroy");
  });
});

describe("several servers", () => {
  it("queue each run once, whatever they do at one moment and wherever one is killed", async ({
    client,
    owner,
  }) => {
    const specs = [];
    for (let count = 0; count < 20; count++) specs.push(await addSpec(plane.context.store, owner));
    const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
    const { id } = await schedule(client, { zone_id: owner.zone });
    const { context, ownerUrl: url } = plane;
    const store = url === undefined ? undefined : await openPostgresBeside({ url, connections: 2 });
    const other = { ...context, store: store ?? context.store };
    // One is killed after its runs are noted, before a job of them is queued.
    let writes = 0;
    const dying: Store = {
      ...context.store,
      read: context.store.read,
      write: (change) => {
        writes += 1;
        return writes > 1 ? Promise.reject(new Error("killed")) : context.store.write(change);
      },
    };
    await expect(clock.server({ ...context, store: dying })()).rejects.toThrow("killed");
    await Promise.all([context, other, context, other].map((one) => clock.server(one)()));
    await store?.close();
    const jobs = await readRows(plane, "jobs", { schedule_id: id });
    expect(jobs.map(({ spec_id }) => String(spec_id)).toSorted()).toEqual(specs.toSorted());
  });

  it("serve each space, however many runs another one has", async ({
    client,
    owner,
    otherClient,
    otherOwner,
  }) => {
    for (let count = 0; count < 12; count++) await addSpec(plane.context.store, owner);
    const few = await addSpec(plane.context.store, otherOwner);
    const clock = steppedClock(plane, "2027-01-01T02:00:00Z");
    const many = await schedule(client, { zone_id: owner.zone });
    const one = await schedule(otherClient, { configuration_id: few });
    await clock.round();
    // Ids grow with time; a table has no order.
    const order = (await readRows(plane, "jobs"))
      .filter(({ schedule_id }) => [many.id, one.id].includes(schedule_id ?? ""))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(order.findIndex(({ schedule_id }) => schedule_id === one.id)).toBeLessThan(6);
    expect(order).toHaveLength(13);
  });
});
