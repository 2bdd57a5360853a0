/**
 * Two real servers on one PostgreSQL under load, each killed with kill -9 in turn, and PostgreSQL
 * itself. Clients repeat their calls at the other server: every job runs once, and nothing
 * acknowledged is lost.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { findBreaches } from "../helpers/load/acknowledged.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import {
  copyToSqlite,
  newSharedLink,
  sharedSettings,
  untilAllKinds,
  untilAnswered,
} from "../helpers/plane/control-planes.ts";
import { findUnserved } from "../helpers/load/find-unserved.ts";
import { seeded } from "../helpers/plane/hostile-values.ts";
import { Load } from "../helpers/load/load.ts";
import { lackOfPostgres, startPostgres } from "../helpers/store/postgres.ts";
import { proving } from "../helpers/project/proving.ts";
import { spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";
import { skipAt } from "../helpers/project/tools.ts";

skipAt(lackOfPostgres());

const kills = proving ? 60 : 6;
/** An address that refuses connections. */
const nowhere = "http://127.0.0.1:1";

test("kill -9 of one of two servers, and of the database, loses and doubles nothing", async () => {
  using place = scratch();
  const database = await startPostgres();
  const url = await database.create();
  const settings = sharedSettings(url, place.path);
  const spawn = (index: number): ServerProcess =>
    spawnServer(join(place.path, `data-${index}`), settings);
  const servers = [spawn(0), spawn(1)];
  try {
    const urls = await Promise.all(servers.map(({ ready }) => ready));
    const load = new Load(seeded(1));
    // Each call goes to the next server that runs.
    let calls = 0;
    Object.defineProperty(load, "url", {
      get: () => {
        const running = urls.filter((one) => one !== nowhere);
        return running[calls++ % running.length] ?? nowhere;
      },
    });
    await load.start(await newSharedLink(url));
    for (let n = 0; n < kills; n += 1) {
      await untilAnswered(load, 60);
      if (n % 3 === 2) {
        await database.restart();
        continue;
      }
      const index = n % 2;
      servers[index]!.kill("SIGKILL");
      // Another program may get its port, so the clients must not call there.
      urls[index] = nowhere;
      expect(await servers[index]!.exited).toBeNull();
      await untilAnswered(load, 60);
      servers[index] = spawn(index);
      urls[index] = await servers[index].ready;
    }
    await untilAllKinds(load);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(await findUnserved(load)).toEqual([]);
    for (const server of servers) server.kill("SIGTERM");
    expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual([0, 0]);
    await copyToSqlite(url, join(place.path, "windlass.db"));
    expect(await findBreaches(place.path, load.acknowledged)).toEqual([]);
    const { ended, artifacts } = load.acknowledged;
    process.stderr.write(
      `${ended.size} jobs, ${artifacts.size} plans, ${load.answered} calls answered, ${load.unanswered} repeated, ${load.refused} refused with 503\n`,
    );
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    await Promise.all(servers.map(({ exited }) => exited));
    await database.close();
  }
});
