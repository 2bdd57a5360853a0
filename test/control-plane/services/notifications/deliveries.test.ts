/** Deliveries to real receivers, and what these do wrong. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Webhook } from "standardwebhooks";
import { system } from "../../../../control-plane/services/audit/audit.ts";
import { recordEvent } from "../../../../control-plane/services/events/record.ts";
import {
  afterAttempt,
  deliver,
  deliverNow,
  waitAfter,
} from "../../../../control-plane/services/notifications/deliver.ts";
import { giveUpCrowded } from "../../../../control-plane/services/notifications/crowded.ts";
import {
  deleteOldEvents,
  deliveriesAtOnce,
  spreadEvents,
} from "../../../../control-plane/services/notifications/spread.ts";
import type { NotificationEvent } from "../../../../protocol/notification-events.ts";
import { hour, minute, second } from "../../../../common/units.ts";
import type { Calls } from "../../../helpers/plane/calls.ts";
import { readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addRule, addSpec, type Owner } from "../../../helpers/plane/rows.ts";

const { plane, it } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

type Answer = (response: ServerResponse, event: NotificationEvent) => void;
interface Received {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly event: NotificationEvent;
}

let server: Server;
let url: string;
let received: Received[];
let answer: Answer;
beforeEach(async () => {
  received = [];
  answer = (response) => response.writeHead(204).end();
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      const event = JSON.parse(body) as NotificationEvent;
      received.push({ headers: request.headers, body, event });
      answer(response, event);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
});

/** Until nothing is due or under way: the server of the plane delivers too. */
const settle = async () => {
  await deliverNow(plane.context);
  const unsettled = async () => {
    const { store, now } = plane.context;
    const at = now();
    const open = await store.read.sql
      .selectFrom("deliveries")
      .select("id")
      .where("status", "=", "retrying")
      .where((where) =>
        where.or([
          where("next_at", "<=", at),
          where.and([where("attempt", ">", 0), where("error", "is", null)]),
        ]),
      )
      .execute();
    const fresh = await readRows(plane, "events");
    return open.length + fresh.filter(({ sequence }) => sequence === null).length;
  };
  await expect.poll(unsettled, { timeout: 15 * second, interval: 10 }).toBe(0);
};

const addHook = (client: Calls, events: string[] = ["job.*"], name = "hook") =>
  client.call("createNotification", { body: { name, events, to: { kind: "webhook", url } } });
const happen = async (
  owner: Owner,
  configuration?: string,
  type: "job.failed" | "job.started" = "job.failed",
) => {
  const { store, now } = plane.context;
  const event = { type, owner: owner.id, configuration, by: system } as const;
  await store.write((tx) => recordEvent(tx, now(), event));
};
const deliveriesOf = async (client: Calls, id: string) =>
  (await client.call("listDeliveries", { params: { id } })).deliveries;
/** Lets what waits for a retry be due, as if the time had passed. */
const passTime = async (rule: string, milliseconds: number) => {
  for (const { id, next_at, first_failed_at } of await readRows(plane, "deliveries", {
    rule_id: rule,
  }))
    await setRows(
      plane,
      "deliveries",
      {
        next_at: next_at === null ? null : next_at - milliseconds,
        first_failed_at: first_failed_at === null ? null : first_failed_at - milliseconds,
      },
      { id },
    );
};

describe("a webhook", () => {
  it("gets each event once, signed, in order, with what it is about", async ({
    owner,
    client,
    spec,
  }) => {
    const { id, secret } = await addHook(client);
    await happen(owner, spec, "job.started");
    await happen(owner, spec);
    await settle();
    await settle();
    expect(received.map(({ event }) => [event.type, event.sequence])).toEqual([
      ["job.started", 1],
      ["job.failed", 2],
    ]);
    const [first] = received;
    const { name } = await readRow(plane, "specs", { id: spec });
    expect(first?.event).toMatchObject({
      space: { id: owner.id, name: expect.any(String) },
      zone: { id: owner.zone },
      configuration: { id: spec, name, url: `${plane.url}/configurations/${spec}` },
      job: null,
      actor: { kind: "system", name: "Windlass" },
      text: expect.stringContaining(name),
    });
    const verify = (key: string) =>
      new Webhook(key).verify(first?.body ?? "", first?.headers as Record<string, string>);
    expect(verify(secret ?? "")).toEqual(first?.event);
    expect(first?.headers["webhook-id"]).toBe(first?.event.id);
    expect(() => verify(`whsec_${"A".repeat(43)}=`)).toThrow("No matching signature found");
    expect(await deliveriesOf(client, id)).toMatchObject([
      { event: "job.failed", attempt: 1, status: "delivered", response_status: 204, error: null },
      { event: "job.started", status: "delivered", next_at: null },
    ]);
  });

  it("is signed with both secrets during an overlap, and then with the new one", async ({
    owner,
    client,
  }) => {
    const { id, secret: old = "" } = await addHook(client);
    const params = { id };
    const { secret } = await client.call("rotateNotificationSecret", {
      params,
      body: { overlap_seconds: 60 },
    });
    await happen(owner);
    await settle();
    const [{ body, headers } = { body: "", headers: {} }] = received;
    for (const key of [old, secret])
      new Webhook(key).verify(body, headers as Record<string, string>);
    await client.call("rotateNotificationSecret", { params, body: { overlap_seconds: 0 } });
    await happen(owner);
    await settle();
    expect(() =>
      new Webhook(secret).verify(
        received[1]?.body ?? "",
        received[1]?.headers as Record<string, string>,
      ),
    ).toThrow("No matching signature found");
    expect(await plane.holds(secret)).toEqual([]);
  });

  it("that fails is tried again, and delays what is about the same thing only", async ({
    owner,
    client,
  }) => {
    const { store } = plane.context;
    const [broken, other] = [await addSpec(store, owner), await addSpec(store, owner)];
    const { id } = await addHook(client);
    answer = (response, { configuration }) =>
      response.writeHead(configuration?.id === broken ? 500 : 200).end();
    await happen(owner, broken);
    await happen(owner, broken, "job.started");
    await happen(owner, other);
    await settle();
    expect(received.map(({ event }) => event.sequence).toSorted((a, b) => a - b)).toEqual([1, 3]);
    const [, waiting, failed] = await deliveriesOf(client, id);
    expect(failed).toMatchObject({
      status: "retrying",
      attempt: 1,
      response_status: 500,
      error: "HTTP 500",
    });
    expect(waiting).toMatchObject({ status: "retrying", attempt: 0, sent_at: null });
    expect(Date.parse(waiting?.next_at ?? "") - plane.context.now()).toBeGreaterThan(9 * minute);
    expect(
      Date.parse(failed?.next_at ?? "") - Date.parse(failed?.sent_at ?? ""),
    ).toBeGreaterThanOrEqual(5 * second);
    // Once the first has failed for ten minutes, the second goes ahead.
    for (const wait of [5 * second, 30 * second, 2 * minute]) {
      await passTime(id, wait + second);
      await settle();
    }
    expect(received.map(({ event }) => event.sequence)).toEqual(expect.not.arrayContaining([2]));
    await passTime(id, 8 * minute);
    await settle();
    expect(received.at(-1)?.event.sequence).toBe(2);
    answer = (response) => response.writeHead(200).end();
    await passTime(id, 10 * minute);
    await settle();
    expect((await deliveriesOf(client, id)).map(({ status }) => status)).toEqual(
      Array(3).fill("delivered"),
    );
  });

  it("that redirects, hangs, sends an endless body or is away has failed, or not, by its status", async ({
    owner,
    client,
  }) => {
    const { id } = await addHook(client);
    const outcome = async (answers: Answer) => {
      answer = answers;
      await happen(owner);
      await settle();
      const [last] = await deliveriesOf(client, id);
      await setRows(plane, "deliveries", { status: "given_up", next_at: null }, { rule_id: id });
      return `${last?.status} ${last?.response_status}: ${last?.error}`;
    };
    expect(await outcome((response) => response.writeHead(302, { location: url }).end())).toMatch(
      /^retrying 302: HTTP 302: redirects are not followed/,
    );
    expect(received).toHaveLength(1);
    const endless = (response: ServerResponse) => {
      response.writeHead(200);
      const more = () => {
        if (response.destroyed) return;
        if (response.write("x".repeat(64 * 1024))) setImmediate(more);
        else response.once("drain", more);
      };
      more();
    };
    expect(await outcome(endless)).toBe("delivered 200: null");
    expect(await outcome((response) => response.destroy())).toMatch(
      /^retrying null: .*did not answer/,
    );
  });

  it("for which too many deliveries wait loses the oldest, tells it, and continues with the next", async ({
    owner,
    client,
    spec,
  }) => {
    const { id } = await addHook(client);
    answer = (response) => response.writeHead(500).end();
    for (let n = 0; n < 6; n += 1) await happen(owner, spec);
    await settle();
    const other = await addHook(client, ["job.*"], "other");
    await happen(owner, spec);
    await settle();
    received = [];
    answer = (response) => response.writeHead(204).end();
    const { signal } = new AbortController();
    await giveUpCrowded(plane.context, signal, 7);
    expect((await deliveriesOf(client, id)).map(({ status }) => status)).toEqual(
      Array(7).fill("retrying"),
    );
    await giveUpCrowded(plane.context, signal, 3);
    const gone = "more than 3 deliveries waited for the receiver, so the oldest were given up";
    const after = await deliveriesOf(client, id);
    expect(after.filter(({ error }) => error === gone).map(({ status }) => status)).toEqual(
      Array(4).fill("given_up"),
    );
    const { error } = await client.call("getNotification", { params: { id } });
    expect(error?.message).toBe(gone);
    await settle();
    expect((await deliveriesOf(client, id)).map(({ status }) => status)).toEqual([
      ...Array<string>(3).fill("delivered"),
      ...Array<string>(4).fill("given_up"),
    ]);
    expect(received.map(({ event }) => event.sequence)).toEqual([5, 6, 7]);
    expect((await deliveriesOf(client, other.id)).map((one) => one.error)).not.toContain(gone);
  });

  it("that answers 410 disables its rule, and what waits is given up", async ({
    owner,
    client,
    spec,
  }) => {
    const { id } = await addHook(client);
    answer = (response) => response.writeHead(410).end();
    await happen(owner, spec);
    await happen(owner, spec);
    await settle();
    expect(received).toHaveLength(1);
    const rule = await client.call("getNotification", { params: { id } });
    expect(rule).toMatchObject({
      enabled: false,
      error: { message: expect.stringContaining("410") },
    });
    expect((await deliveriesOf(client, id)).map(({ status }) => status)).toEqual([
      "given_up",
      "given_up",
    ]);
    await happen(owner, spec);
    await settle();
    expect(received).toHaveLength(1);
    const on = await client.call("updateNotification", { params: { id }, body: { enabled: true } });
    expect(on).toMatchObject({ enabled: true, error: null });
  });

  it("says when it wants the next attempt, within a day", async ({ owner, client }) => {
    const { id } = await addHook(client);
    answer = (response) => response.writeHead(429, { "retry-after": "3600" }).end();
    await happen(owner);
    await settle();
    const [{ next_at } = { next_at: null }] = await deliveriesOf(client, id);
    expect(Date.parse(next_at ?? "") - plane.context.now()).toBeGreaterThan(hour - minute);
  });

  it("is given up after five days, which the rule shows until a delivery succeeds", async ({
    owner,
    client,
  }) => {
    const { id } = await addHook(client);
    answer = (response) => response.writeHead(503).end();
    await happen(owner);
    await settle();
    await passTime(id, 5 * 24 * hour);
    await settle();
    expect(await deliveriesOf(client, id)).toMatchObject([
      { status: "given_up", attempt: 2, next_at: null },
    ]);
    const read = () => client.call("getNotification", { params: { id } });
    expect((await read()).error).toMatchObject({ message: "HTTP 503" });
    answer = (response) => response.writeHead(200).end();
    await happen(owner);
    await settle();
    expect((await read()).error).toBeNull();
    const metrics = await (await fetch(`${plane.url}/metrics`)).text();
    for (const outcome of ["delivered", "failed", "given_up"])
      expect(metrics).toMatch(
        new RegExp(`^windlass_notification_attempts_total\\{outcome="${outcome}"\\} [1-9]`, "m"),
      );
    expect(metrics).toMatch(/^windlass_notifications_waiting \d+$/m);
  });

  it("is sent again on request, with the same id", async ({ owner, client }) => {
    const { id } = await addHook(client);
    await happen(owner);
    await settle();
    const [delivery] = await deliveriesOf(client, id);
    const params = { id, delivery_id: delivery?.id ?? "" };
    expect(await client.call("redeliver", { params })).toMatchObject({
      attempt: 2,
      status: "delivered",
    });
    expect(new Set(received.map(({ headers }) => headers["webhook-id"]))).toEqual(
      new Set([delivery?.event_id]),
    );
    answer = (response) => response.writeHead(500).end();
    expect(await client.call("redeliver", { params })).toMatchObject({
      status: "given_up",
      error: "HTTP 500",
      next_at: null,
    });
    expect(await client.refusal("redeliver", { params: { id, delivery_id: id } })).toBe(
      "404 not_found",
    );
  });

  it("gets a ping on request, also of a disabled rule, and is not retried", async ({ client }) => {
    const { id } = await addHook(client);
    await client.call("updateNotification", { params: { id }, body: { enabled: false } });
    expect(await client.call("testNotification", { params: { id } })).toMatchObject({
      event: "ping",
      status: "delivered",
      attempt: 1,
    });
    expect(received[0]?.event).toMatchObject({ type: "ping", actor: { kind: "user" } });
    answer = (response) => response.writeHead(500).end();
    expect(await client.call("testNotification", { params: { id } })).toMatchObject({
      status: "given_up",
      next_at: null,
    });
    const others = Array.from({ length: 30 }, () =>
      client.refusal("testNotification", { params: { id } }),
    );
    expect(await Promise.all(others)).toContain("429 too_many_requests");
  });
});

describe("the deliverer", () => {
  it("lets a receiver that hangs delay no other rule, and ends with its signal", async ({
    owner,
    client,
    otherOwner,
    otherClient,
  }) => {
    const { store } = plane.context;
    for (const name of ["a", "b", "c", "d"]) await addHook(client, ["job.*"], name);
    await addHook(otherClient);
    answer = (response, { space }) => {
      if (space.id === otherOwner.id) response.writeHead(204).end();
    };
    for (let index = 0; index < 20; index += 1) await happen(owner, await addSpec(store, owner));
    await happen(otherOwner);
    const stop = new AbortController();
    const running = deliver(plane.context, stop.signal);
    await expect
      .poll(() => received.some(({ event }) => event.space.id === otherOwner.id), { timeout: 5000 })
      .toBe(true);
    // Of one space eight at most, by this deliverer and by that of the plane's server.
    expect(received.filter(({ event }) => event.space.id === owner.id).length).toBeLessThanOrEqual(
      16,
    );
    stop.abort();
    await running;
    // What was cut off is due at once.
    const rows = await readRows(plane, "deliveries", { owner_id: owner.id });
    const isDue = (at: number | null) => at !== null && at <= plane.context.now();
    expect(rows.some(({ attempt, next_at }) => attempt === 1 && isDue(next_at))).toBe(true);
    await setRows(plane, "deliveries", { status: "given_up", next_at: null });
  });

  it("makes the deliveries of many events for many rules, in turns of the writer", async ({
    owner,
  }) => {
    const { store, now } = plane.context;
    for (let index = 0; index < 50; index += 1) await addRule(store, owner, {});
    const type = "job.failed";
    // At once, so that the server of the plane has not spread some before.
    await store.write(async (tx) => {
      for (let index = 0; index < 45; index += 1)
        await recordEvent(tx, now(), { type, owner: owner.id, by: system });
    });
    const count = async ({ sql } = store.read) =>
      (await sql.selectFrom("deliveries").select("id").where("owner_id", "=", owner.id).execute())
        .length;
    const turns: number[] = [];
    const write: typeof store.write = (work) =>
      store.write(async (tx) => {
        const before = await count(tx);
        const result = await work(tx);
        turns.push((await count(tx)) - before);
        return result;
      });
    const counting = new Proxy(store, {
      get: (target, key) => (key === "write" ? write : Reflect.get(target, key, target)),
    });
    await spreadEvents({ store: counting, now });
    await expect.poll(() => count()).toBe(50 * 45);
    expect(Math.max(...turns, 0)).toBeLessThan(deliveriesAtOnce + 50);
    const rows = await readRows(plane, "deliveries", { owner_id: owner.id });
    await setRows(plane, "deliveries", { status: "given_up", next_at: null });
    expect(rows).toHaveLength(50 * 45);
    const events = await readRows(plane, "events", { owner_id: owner.id });
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  });

  it("forgets events after thirty days, with their deliveries", async ({ owner, client }) => {
    const { id } = await addHook(client);
    await happen(owner);
    await happen(owner);
    await settle();
    const [event] = await readRows(plane, "events", { owner_id: owner.id });
    await setRows(
      plane,
      "events",
      { created_at: plane.context.now() - 31 * 24 * hour },
      { id: event!.id },
    );
    await deleteOldEvents(plane.context, new AbortController().signal);
    expect(await deliveriesOf(client, id)).toHaveLength(1);
    expect(await readRows(plane, "events", { owner_id: owner.id })).toMatchObject([
      { sequence: 2 },
    ]);
  });
});

test("the waits between attempts grow to four hours, with some chance in them", () => {
  const waits = [1, 2, 3, 4, 5, 6, 20].map((failures) => waitAfter(failures, 1));
  expect(waits).toEqual([
    5 * second,
    30 * second,
    2 * minute,
    10 * minute,
    hour,
    264 * minute,
    264 * minute,
  ]);
  expect(waitAfter(6, 0)).toBe(4 * hour);
});

test("an attempt that fails for good is not followed by another", () => {
  const failed = { error: "x", response_status: null, duration_ms: 1, isFinal: true };
  expect(afterAttempt({ attempt: 1, first_failed_at: null }, failed, 5)).toMatchObject({
    status: "given_up",
    next_at: null,
    first_failed_at: 5,
  });
});
