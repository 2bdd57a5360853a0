/**
 * Two control planes deliver events while one after the other is killed with kill -9: every event
 * arrives, in the order of its configuration, and at most what was under way arrives twice.
 */
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { second } from "../../common/units.ts";
import { system } from "../../control-plane/services/audit/audit.ts";
import { recordEvent } from "../../control-plane/services/events/record.ts";
import { openPostgresBeside } from "../../control-plane/store/engines/postgres.ts";
import type { NotificationEvent } from "../../protocol/notification-events.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { listen } from "../helpers/network/listen.ts";
import { cookieOf } from "../helpers/people/sign-in.ts";
import { newSharedLink, sharedSettings } from "../helpers/plane/control-planes.ts";
import { ask } from "../helpers/plane/plane.ts";
import { addSpec } from "../helpers/plane/rows.ts";
import { spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";
import { proving } from "../helpers/project/proving.ts";
import { skipAt } from "../helpers/project/tools.ts";
import { lackOfPostgres, startPostgres } from "../helpers/store/postgres.ts";

skipAt(lackOfPostgres());

const rounds = proving ? 100 : 3;
/** Of each round. */
const configurations = 3;
const eventsOfEach = 4;
/** Of one server; each was under way at most once when it was killed. */
const attemptsAtOnce = 8;

test(`kill -9 of one of two servers, ${rounds} times, loses no event and changes no order`, async () => {
  using place = scratch();
  const database = await startPostgres();
  const url = await database.create();
  const received: NotificationEvent[] = [];
  const receiver = await listen(
    createServer((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        received.push(JSON.parse(body) as NotificationEvent);
        setTimeout(() => response.writeHead(204).end(), 40);
      });
    }),
  );
  const settings = { ...sharedSettings(url, place.path), WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" };
  const spawn = (index: number): ServerProcess =>
    spawnServer(join(place.path, `data-${index}`), settings);
  const servers = [spawn(0), spawn(1)];
  try {
    const [address = ""] = await Promise.all(servers.map(({ ready }) => ready));
    const cookie = cookieOf(await ask({ url: address }, "GET", await newSharedLink(url))) ?? "";
    const as = { headers: { cookie, "sec-fetch-site": "same-origin" } };
    const zone = await ask({ url: address }, "POST", "/api/cli/zones", {
      ...as,
      json: { name: "z" },
    });
    const to = { kind: "webhook", url: receiver.url };
    const rule = { name: "all", events: ["job.*"], to };
    const made = await ask({ url: address }, "POST", "/api/cli/notifications", {
      ...as,
      json: rule,
    });
    expect([zone.status, made.status]).toEqual([201, 201]);
    const store = await openPostgresBeside({ url, connections: 2 });
    const expected: string[][] = [];
    try {
      const [user] = await store.read.sql.selectFrom("users").selectAll().execute();
      const owner = { id: user!.id, zone: String(zone.json()["id"]) };
      for (let round = 0; round < rounds; round += 1) {
        const before = received.length;
        for (let index = 0; index < configurations; index += 1) {
          const configuration = await addSpec(store, owner);
          for (let event = 0; event < eventsOfEach; event += 1)
            await store.write((tx) =>
              recordEvent(tx, Date.now(), {
                type: "job.started",
                owner: owner.id,
                configuration,
                by: system,
                data: { reason: `${configuration} ${event}` },
              }),
            );
          expected.push(
            Array.from({ length: eventsOfEach }, (_, event) => `${configuration} ${event}`),
          );
        }
        await expect.poll(() => received.length, { timeout: 60 * second }).toBeGreaterThan(before);
        const index = round % 2;
        servers[index]!.kill("SIGKILL");
        await servers[index]!.exited;
        servers[index] = spawn(index);
        await servers[index].ready;
      }
    } finally {
      await store.close();
    }
    const wanted = expected.flat().length;
    const until = Date.now() + 180 * second;
    while (new Set(received.map(({ id }) => id)).size < wanted && Date.now() < until)
      await pause(100);
    const seen = new Set<string>();
    const isFirst = (id: string): boolean => !seen.has(id) && seen.add(id).has(id);
    const arrived = received.filter(({ id }) => isFirst(id)).map(({ data }) => data.reason ?? "");
    expect(arrived.toSorted()).toEqual(expected.flat().toSorted());
    for (const texts of expected)
      expect(arrived.filter((text) => texts.includes(text))).toEqual(texts);
    expect(received.length - wanted).toBeLessThanOrEqual(rounds * attemptsAtOnce);
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    await Promise.all(servers.map(({ exited }) => exited));
    await receiver[Symbol.asyncDispose]();
    await database.close();
  }
});
