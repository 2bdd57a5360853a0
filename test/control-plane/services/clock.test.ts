/** What was written while the clock was ahead is not waited for, on both engines. */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { hour } from "../../../common/units.ts";
import { followClock, settleClock } from "../../../control-plane/services/clock.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { readRow, setRows } from "../../helpers/plane/plane.ts";
import { addRows, addRule, type Owner } from "../../helpers/plane/rows.ts";

const { it, plane } = planeForFile();

const aheadBy = 5 * hour;

async function addWritten({ id: owner_id, zone }: Owner, rule_id: string, at: number) {
  const { store } = plane.context;
  const [id, event_id] = [randomUUID(), randomUUID()];
  const named = { id, owner_id, name: id };
  await addRows(store, "connections", {
    ...named,
    kind: "forgejo",
    base_url: "http://localhost:1",
    api_url: "http://localhost:1",
    status_name: "windlass",
    poll_seconds: 60,
    secrets: "{}",
    last_poll_at: at,
    poll_at: at + 60_000,
    busy_until: at + 60_000,
    quiet_until: at + 60_000,
    created_at: 1,
    updated_at: 1,
  });
  await addRows(store, "schedules", {
    ...named,
    kind: "plan",
    zone_id: zone,
    cron: "0 * * * *",
    timezone: "UTC",
    window_minutes: 0,
    enabled: 1,
    moment: at + hour,
    look_at: at + hour,
    last_at: at,
    created_at: 1,
    updated_at: 1,
  });
  // Of an event that came before the clock was ahead.
  await addRows(store, "events", {
    event_id,
    owner_id,
    type: "worker.offline",
    sequence: 1,
    data: "{}",
    created_at: 1,
  });
  const { id: event } = await readRow(plane, "events", { event_id });
  await addRows(store, "deliveries", {
    id,
    owner_id,
    rule_id,
    event_id: event,
    event_name: event_id,
    type: "worker.offline",
    status: "retrying",
    attempt: 1,
    sent_at: at,
    next_at: at + 60_000,
    first_failed_at: at,
  });
  return id;
}

/** When they are looked at next. */
async function dueTimes(id: string): Promise<number[]> {
  const connection = await readRow(plane, "connections", { id });
  const delivery = await readRow(plane, "deliveries", { id });
  const { look_at } = await readRow(plane, "schedules", { id });
  const { last_poll_at, poll_at, busy_until, quiet_until } = connection;
  const { next_at, first_failed_at } = delivery;
  const times = [last_poll_at, poll_at, busy_until, quiet_until, next_at, first_failed_at, look_at];
  return times.map((at) => at ?? 0);
}

describe("after a clock that was ahead is set back", () => {
  it("connections, schedules, deliveries and workers do not wait for it while the server runs", async ({
    owner,
    worker,
  }) => {
    const { context } = plane;
    const rule = await addRule(context.store, owner, {});
    let ahead = aheadBy;
    const clock = {
      now: () => context.now() + ahead,
      ahead: () => -ahead,
      shift: (by: number) => void (ahead += by),
    };
    const id = await addWritten(owner, rule, clock.now());
    await setRows(plane, "workers", { last_heartbeat_at: clock.now() }, { id: worker.id });
    await followClock(context, clock);
    expect(Math.abs(ahead)).toBeLessThan(1000);
    const latest = Math.max(...(await dueTimes(id)));
    expect(latest).toBeLessThanOrEqual(context.now() + hour);
    const { last_heartbeat_at } = await readRow(plane, "workers", { id: worker.id });
    expect(last_heartbeat_at).toBeLessThanOrEqual(context.now() + 1000);
  });

  it("nor while the server was stopped", async ({ owner }) => {
    const { context } = plane;
    const rule = await addRule(context.store, owner, {});
    const id = await addWritten(owner, rule, context.now() + aheadBy);
    expect(await settleClock(context)).toBe(true);
    const latest = Math.max(...(await dueTimes(id)));
    expect(latest).toBeLessThanOrEqual(context.now() + hour);
  });
});
