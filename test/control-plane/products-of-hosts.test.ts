/** The costs of docs/limits.md that are products of what code hosts, receivers and schedules decide. */
import { createServer, type ServerResponse } from "node:http";
import { v7 as uuid } from "uuid";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { day, minute, second } from "../../common/units.ts";
import { deliver } from "../../control-plane/services/notifications/deliver.ts";
import { commentText } from "../../control-plane/services/pull-requests/comment.ts";
import { pollConnections } from "../../control-plane/services/pull-requests/poll.ts";
import { scheduleRounds } from "../../control-plane/services/schedules/rounds.ts";
import { findDueConnections, takeTurn } from "../../control-plane/store/connections/polls.ts";
import type { Queries, Store } from "../../control-plane/store/db.ts";
import { follow } from "../helpers/hosts/followed.ts";
import { startForgejo } from "../helpers/hosts/forgejo.ts";
import { listen, type Listening } from "../helpers/network/listen.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { emptySummary } from "../helpers/plane/plan-summaries.ts";
import { clientHeaders, readRow, readRows, setRows } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { addOwner, addRows, addSpec } from "../helpers/plane/rows.ts";
import { schedule } from "../helpers/plane/schedules.ts";
import { proving } from "../helpers/project/proving.ts";

const many = (moderate: number, large: number) => (proving ? large : moderate);
const { signal: never } = new AbortController();

let host: Awaited<ReturnType<typeof startForgejo>>;
/** A receiver that answers nothing until the test does. */
let receiver: Listening;
const held: { readonly path: string; readonly response: ServerResponse }[] = [];
beforeAll(async () => {
  host = await startForgejo({ full: ["write:repository", "write:issue"] });
  receiver = await listen(
    createServer(({ url: path = "" }, response) => void held.push({ path, response })),
  );
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const { it, plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

/** A store with the number of rows that each of its transactions has added. */
function inTurns(store: Store, count: (tx: Queries) => Promise<number>) {
  const turns: number[] = [];
  const write: Store["write"] = (work) =>
    store.write(async (tx) => {
      const before = await count(tx);
      const result = await work(tx);
      turns.push((await count(tx)) - before);
      return result;
    });
  const watched = new Proxy(store, {
    get: (target, key) => (key === "write" ? write : Reflect.get(target, key, target)),
  });
  return { watched, turns };
}

describe("what code hosts decide", () => {
  it("configurations that follow × pull requests: a look reads 20 pages and ends after a minute", async ({
    client,
    owner,
  }) => {
    const { open, configure, due, stored } = await follow(plane, host, client, owner);
    // With PostgreSQL each statement takes a round trip.
    const followers = plane.context.store.isShared ? 5 : many(20, 200);
    for (let count = 0; count < followers; count += 1) await configure(`c${count}`);
    // A page of this host has 50.
    for (let number = 1; number <= 20 * 50 + 60; number += 1) open(number, ["README.md"]);
    const { length: before } = host.requests;
    const base = plane.context.now();
    // Each answer takes a second of the clock of the server that looks.
    const now = () => base + (host.requests.length - before) * second;
    await due();
    const { watched, turns } = inTurns(plane.context.store, async ({ sql }) => {
      const all = sql.selectFrom("pull_requests").select("id");
      return (await all.where("owner_id", "=", owner.id).execute()).length;
    });
    await pollConnections({ ...plane.context, store: watched, now }, never);
    expect(Math.max(...turns)).toBe(50);
    const asked = host.requests.slice(before);
    expect(asked.filter((one) => one.includes("/pulls?"))).toHaveLength(20);
    expect(asked.length).toBeLessThanOrEqual(minute / second + 2);
    expect((await stored()).error).toContain("the host is too slow");
    const pulls = await readRows(plane, "pull_requests", { owner_id: owner.id });
    expect(pulls).toHaveLength(20 * 50);
    const planned = pulls.filter((row) => row.planned_commit !== null).length;
    expect(planned).toBeGreaterThan(20);
    expect(planned).toBeLessThan(minute / second);
  });

  it("connections × configurations: of a space one is looked at, also when others have seen it due", async ({
    client,
    owner,
    otherClient,
    otherOwner,
  }) => {
    const first = await follow(plane, host, client, owner);
    const other = await follow(plane, host, otherClient, otherOwner);
    for (const { due, configure } of [first, other]) {
      await configure("c");
      await due();
    }
    const row = await readRow(plane, "connections", { id: first.connection });
    const more = Array.from({ length: 49 }, (_, at) => {
      const tail = String(at).padStart(3, "0");
      return { ...row, id: row.id.slice(0, -3) + tail, name: `git ${tail}` };
    });
    const { store, now } = plane.context;
    await addRows(store, "connections", ...(more as never[]));
    const at = now();
    const find = () => store.read.all(findDueConnections, { now: at, limit: 100 });
    const due = (await find()).map(({ id }) => id);
    expect(due.length).toBeGreaterThanOrEqual(51);
    const turns = await Promise.all(
      due.map((id) => store.write((tx) => tx.first(takeTurn, { id, now: at, until: at + 1 }))),
    );
    const owners = turns.flatMap((turn) => turn?.owner_id ?? []);
    expect(owners.filter((id) => [owner.id, otherOwner.id].includes(id))).toHaveLength(2);
    expect(new Set(owners).size).toBe(owners.length);
    expect(await find()).toEqual([]);
    await setRows(plane, "connections", { poll_at: 2 * at }, {});
  });

  it("jobs of a pull request × size of its comment: one summary is in memory, and none without room", async () => {
    let [reads, open, most] = [0, 0, 0];
    const address = `aws_instance.${"x".repeat(1000)}`;
    const changes = Array.from({ length: 1000 }, () => ({ address, action: "create" as const }));
    const plan = (name: number) => ({
      configuration: `configuration-${name}`,
      said: "+1000",
      url: `https://windlass.example.com/jobs/${name}`,
      withheld: [],
      read: async () => {
        reads += 1;
        most = Math.max(most, (open += 1));
        const summary = { ...emptySummary, changes };
        await Promise.resolve();
        open -= 1;
        return { error: null, summary };
      },
    });
    const form = { marker: "<!-- w -->", hasHtml: true, limit: 60_000 };
    const of = (count: number) =>
      commentText(
        Array.from({ length: count }, (_, at) => plan(at)),
        "a".repeat(40),
        form,
      );
    expect((await of(20)).length).toBeLessThanOrEqual(form.limit);
    expect([reads, most]).toEqual([20, 1]);
    expect((await of(500)).length).toBeLessThanOrEqual(form.limit);
    expect(reads).toBe(20);
  });
});

it("spaces × rules × attempts: 32 at one time, 8 of a space, 4 of a rule; of rules that failed 16, 1 of each", async () => {
  const { store } = plane.context;
  // The deliverer of the plane's server finds nothing due.
  const due = plane.context.now() + day;
  const now = () => plane.context.now() + 2 * day;
  for (let space = 0; space < 5; space += 1) {
    const owner = await addOwner(store);
    const client = callsOf(plane, await clientHeaders(plane, owner));
    const event_name = uuid();
    const event = { event_id: event_name, owner_id: owner.id, sequence: 1, type: "job.failed" };
    await addRows(store, "events", { ...event, data: "{}", created_at: due });
    const { id: event_id } = await readRow(plane, "events", { event_id: event_name });
    for (let rule = 0; rule < 4; rule += 1) {
      const to = { kind: "webhook" as const, url: `${receiver.url}/${owner.id}/${rule}` };
      const { id: rule_id } = await client.call("createNotification", {
        body: { name: `${rule}`, events: ["job.*"], to },
      });
      const delivery = { owner_id: owner.id, rule_id, event_id, event_name, type: "job.failed" };
      const row = { ...delivery, status: "retrying", attempt: 0, next_at: due };
      const all = Array.from({ length: 10 }, () => ({ ...row, id: uuid() }) as never);
      await addRows(store, "deliveries", ...all);
    }
  }
  const stop = new AbortController();
  const running = deliver({ ...plane.context, now }, stop.signal);
  const most = (depth: number) =>
    Math.max(
      ...Map.groupBy(held, ({ path }) => path.split("/", depth + 1).join("/"))
        .values()
        .map(({ length }) => length),
    );
  await expect.poll(() => held.length, { timeout: 5 * second }).toBe(32);
  expect([most(1), most(2)]).toEqual([8, 4]);
  // Until each rule has failed.
  const failed = new Set<string>();
  while (failed.size < 20) {
    for (const { path, response } of held.splice(0)) {
      failed.add(path);
      response.writeHead(500).end();
    }
    await expect.poll(() => held.length, { timeout: 5 * second }).toBeGreaterThanOrEqual(16);
  }
  for (const { response } of held.splice(0)) response.writeHead(500).end();
  await expect.poll(() => held.length, { timeout: 5 * second }).toBe(16);
  expect(most(2)).toBe(1);
  stop.abort();
  for (const { response } of held.splice(0)) response.writeHead(204).end();
  await running;
});

it("schedules × configurations: 50 runs in a transaction, and a round ends after ten seconds", async ({
  client,
  owner,
}) => {
  const { store } = plane.context;
  const configurations = many(60, 500);
  for (let count = 0; count < configurations; count += 1) await addSpec(store, owner);
  for (const name of ["first", "second"])
    await schedule(client, { name, zone_id: owner.zone, window_minutes: 0 });
  const runs = async ({ sql } = store.read) =>
    sql
      .selectFrom("schedule_runs")
      .select(["schedule_id", "job_id"])
      .where("owner_id", "=", owner.id)
      .execute();
  const { watched, turns } = inTurns(store, async (tx) => (await runs(tx)).length);
  let at = Date.parse("2027-01-01T02:00:00Z");
  let looks = 0;
  const now = () => (at += (looks += 1) && 50);
  const round = scheduleRounds({ ...plane.context, store: watched, now }, never);
  let rounds = 0;
  const queued = async () => (await runs()).filter((run) => run.job_id !== null).length;
  for (; (await queued()) < 2 * configurations && rounds < 100; rounds += 1) {
    looks = 0;
    await round();
    expect(looks).toBeLessThanOrEqual(10_000 / 50 + 20);
  }
  expect(await queued()).toBe(2 * configurations);
  expect(rounds).toBeGreaterThan(1);
  expect(Math.max(...turns)).toBe(50);
});
