/**
 * The wall clock steps by a day: a living worker stays ONLINE, a silent one is detected on time,
 * and nothing waits for the length of the step.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { JobRow } from "../../control-plane/domain/job.ts";
import { followClock, settleClock } from "../../control-plane/services/clock.ts";
import { scheduleRounds } from "../../control-plane/services/schedules/rounds.ts";
import { findWorker } from "../../control-plane/store/workers/workers.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  type Plane,
  readJob,
  readRow,
  readRows,
  setRows,
  startPlane,
} from "../helpers/plane/plane.ts";
import { addOwner, addRows, addSpec, type Owner } from "../helpers/plane/rows.ts";

const day = 24 * 3600_000;
const seconds = (milliseconds: number) => String(milliseconds / 1000);

let plane: Plane;
let owner: Owner;
beforeEach(async () => {
  plane = await startPlane({
    WINDLASS_OFFLINE_SECONDS: seconds(2000),
    WINDLASS_LOST_SECONDS: seconds(500),
  });
  owner = await addOwner(plane.context.store);
});
afterEach(async () => {
  vi.useRealTimers();
  await plane.close();
});

/**
 * Steps the wall clock of this process, but neither its timers nor its monotonic clock, as an
 * operator or NTP does.
 */
function stepClock(by: number): void {
  const wall = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => wall.call(Date) + by);
}
afterEach(() => vi.restoreAllMocks());

const statusOf = async (id: string) => {
  const worker = await plane.context.store.read.first(findWorker, { id });
  return worker?.offline_at === null ? "ONLINE" : "OFFLINE";
};

describe.each([
  ["forward", day],
  ["back", -day],
])("a wall clock that steps a day %s", (_, by) => {
  it("keeps a living worker ONLINE and ends the job of a silent worker in the usual time", async () => {
    const [living, dead] = [await addTestWorker(plane, owner), await addTestWorker(plane, owner)];
    const job: JobRow = await addHeldJob(plane, owner, dead, { started_at: Date.now() });
    const { headers } = living;
    const beat = async () =>
      expect(
        (await ask(plane, "POST", "/api/workers/heartbeat", { headers, json: { version: "1" } }))
          .status,
      ).toBe(200);
    await beat();
    stepClock(by);
    const statuses = new Set<string>();
    const startedAt = performance.now();
    while ((await readJob(plane, job)).status === "PROCESSING") {
      expect(performance.now() - startedAt).toBeLessThan(15_000);
      await beat();
      await sleep(50);
      statuses.add(await statusOf(living.id));
    }
    expect([...statuses]).toEqual(["ONLINE"]);
    expect(await statusOf(dead.id)).toBe("OFFLINE");
    // The server now follows the new time.
    expect(Math.abs(plane.context.now() - Date.now())).toBeLessThan(1000);
  });

  it("keeps the ages of stored times", async () => {
    const { context } = plane;
    const before = context.now();
    const worker = await addTestWorker(plane, owner);
    const job = await addHeldJob(plane, owner, worker, {
      status: "CANCELLED",
      started_at: before,
      cancelled_at: before - 60_000,
      claimed_at: before - 120_000,
    });
    const code = {
      device_code: `code-${by}`,
      profile_id: owner.id,
      wrong_guesses: 0,
      created_at: before,
      expires_at: before + 600_000,
      used_at: null,
    };
    await context.store.write((tx) => tx.sql.insertInto("cli_logins").values(code).execute());
    stepClock(by);
    const step = await vi.waitFor(() => {
      const moved = context.now() - before;
      expect(Math.abs(moved)).toBeGreaterThan(day / 2);
      return moved;
    }, 10_000);
    const after = await readJob(plane, job);
    const near = (value: number | null, expected: number) =>
      expect(Math.abs((value ?? 0) - expected)).toBeLessThan(10_000);
    near(after.cancelled_at, before - 60_000 + step);
    near(after.claimed_at, before - 120_000 + step);
    const { expires_at } = await readRow(plane, "cli_logins");
    near(expires_at, before + 600_000 + step);
  });
});

describe("the next look at a code host", () => {
  const connection = (at: number, more: object = {}) => ({
    id: randomUUID(),
    owner_id: owner.id,
    name: randomUUID(),
    kind: "forgejo" as const,
    base_url: "http://localhost:1",
    api_url: "http://localhost:1",
    account: null,
    status_name: "windlass",
    poll_seconds: 60,
    secrets: "{}",
    last_event_at: null,
    last_poll_at: at,
    poll_at: at + 60_000,
    busy_until: 0,
    quiet_until: at + 600_000,
    error: null,
    error_since: null,
    created_at: at,
    updated_at: at,
    ...more,
  });

  it.each([day, -day])("is as far away after a step of %d milliseconds", async (by) => {
    const { store, clock } = plane.context;
    const before = clock.now();
    const row = connection(before);
    await addRows(store, "connections", row);
    const { poll_at, quiet_until } = row;
    stepClock(by);
    await vi.waitFor(() => expect(Math.abs(clock.now() - before)).toBeGreaterThan(day / 2), 10_000);
    const after = await readRow(plane, "connections", { id: row.id });
    expect(Math.abs(after.poll_at - by - poll_at)).toBeLessThan(10_000);
    expect(Math.abs(after.quiet_until - by - quiet_until)).toBeLessThan(10_000);
  });
});

describe("schedules, after a clock that was ahead is set back", () => {
  const hourly = async (ahead: number, zone_id = owner.zone) => {
    const at = plane.context.now();
    const row = {
      id: randomUUID(),
      owner_id: owner.id,
      name: randomUUID(),
      kind: "plan" as const,
      spec_id: null,
      zone_id,
      cron: "0 * * * *",
      timezone: "UTC",
      window_minutes: 10,
      starts_at: null,
      ends_at: null,
      enabled: 1 as const,
      author_id: null,
      moment: at + ahead,
      look_at: at + ahead,
      warn_at: null,
      spread_to: "half of the zone",
      last_at: at + ahead - 3600_000,
      last_job_id: null,
      last_skipped: null,
      created_at: at,
      updated_at: at,
    };
    await addRows(plane.context.store, "schedules", row);
    return row;
  };
  const runOf = ({ id, owner_id }: { id: string; owner_id: string }, spec_id: string) => ({
    schedule_id: id,
    spec_id,
    owner_id,
    plan_job_id: null,
    job_id: null,
    author_id: null,
    queue_class: 2 as const,
    skipped: null,
  });
  const isNext = async (id: string) => {
    const { moment, look_at, spread_to } = await readRow(plane, "schedules", { id });
    const now = plane.context.now();
    expect([look_at, spread_to]).toEqual([moment, null]);
    expect(moment! - now).toBeGreaterThan(-10_000);
    expect(moment! - now).toBeLessThanOrEqual(3600_000);
  };

  it("while the server runs, come at their next time, and so does what waits", async () => {
    const { store } = plane.context;
    const row = await hourly(day);
    const [late, early] = [await addSpec(store, owner), await addSpec(store, owner)];
    const now = plane.context.now();
    const runs = { moment: now - day - 60_000, due_at: now + day };
    await addRows(store, "schedule_runs", { ...runOf(row, late), ...runs });
    await addRows(store, "schedule_runs", {
      ...runOf(row, early),
      moment: now,
      due_at: now + 300_000,
    });
    stepClock(-day);
    await vi.waitFor(() => isNext(row.id), 10_000);
    // Its time comes again, and so does its run.
    expect(await readRows(plane, "schedule_runs", { spec_id: early })).toEqual([]);
    await vi.waitFor(async () => {
      const run = await readRow(plane, "schedule_runs", { spec_id: late });
      expect(run.due_at ?? 0).toBeLessThanOrEqual(plane.context.now() + 60_000);
    }, 10_000);
  });

  it("while the server was stopped, come at their next time", async () => {
    const row = await hourly(40 * day);
    expect(await settleClock(plane.context)).toBe(true);
    const round = scheduleRounds(plane.context, new AbortController().signal);
    await round();
    await isNext(row.id);
  });
});

describe("a wall clock that steps back", () => {
  it("does not make a claim look later than one that follows it", async () => {
    const { context } = plane;
    const worker = await addTestWorker(plane, owner);
    const claimed_at = context.now() - 1000;
    const ended = await addHeldJob(plane, owner, worker, {
      status: "SUCCESS",
      claimed_at,
      released_at: claimed_at,
    });
    stepClock(-day);
    await vi.waitFor(() => expect(context.now()).toBeLessThan(claimed_at), 10_000);
    expect((await readJob(plane, ended)).claimed_at).toBeLessThanOrEqual(context.now());
  });

  it("while the server is stopped is noticed at its start", async () => {
    const { context } = plane;
    const ahead = context.now() + day;
    const worker = await addTestWorker(plane, owner);
    await setRows(plane, "workers", { last_heartbeat_at: ahead });
    expect(await settleClock(context)).toBe(true);
    expect(await settleClock(context)).toBe(false);
    const row = await context.store.read.first(findWorker, { id: worker.id });
    expect(row?.last_heartbeat_at).toBeLessThanOrEqual(context.now());
  });
});

it("a clock step whose record fails is retried as a whole", async () => {
  const { context } = plane;
  let offset = 0;
  const clock = {
    now: () => context.now() + offset,
    ahead: () => day - offset,
    shift: (by: number) => void (offset += by),
  };
  const broken = { ...context.store, write: () => Promise.reject(new Error("disk is full")) };
  await expect(followClock({ store: broken }, clock)).rejects.toThrow("disk is full");
  expect(offset).toBe(0);
  expect(await followClock(context, clock)).toBe(day);
  expect(offset).toBe(day);
  expect(await followClock(context, clock)).toBe(0);
});
