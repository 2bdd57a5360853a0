/**
 * kill -9 of the real server under load, at seeded moments, from its first start on. After each
 * kill, everything acknowledged is stored, nothing is stored partly, the server is ready again
 * soon, and clients succeed that only repeat their calls.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { readConfig } from "../../control-plane/config.ts";
import { seeded } from "../helpers/plane/hostile-values.ts";
import { findBreaches, Acknowledged } from "../helpers/load/acknowledged.ts";
import { Load } from "../helpers/load/load.ts";
import { findUnserved } from "../helpers/load/find-unserved.ts";
import { untilAllKinds, untilAnswered } from "../helpers/plane/control-planes.ts";
import { newLink, spawnServer } from "../helpers/plane/server-process.ts";
import { proving } from "../helpers/project/proving.ts";
import { scratch } from "../helpers/agent/agent-process.ts";

/** Each has a directory of its own, so that checking all of it after each kill stays cheap. */
const schedules = proving ? 25 : 1;
const killsAtStart = proving ? 5 : 2;
const killsUnderLoad = proving ? 35 : 4;
/** Logs are archived as soon as their job is over, so that kills hit that too. */
const settings = { WINDLASS_TEST_LIMITS: '{"logArchiveSeconds": 0.01}' };
/** Milliseconds. Only checked with WINDLASS_PROVE=1, as other tests share the cores. */
const readyLimit = 2000;
/** An address that refuses connections. */
const nowhere = "http://127.0.0.1:1";

test.each(Array.from({ length: schedules }, (_, seed) => seed + 1))(
  "kill -9 loses no acknowledged change and leaves no partial one (seed %i)",
  async (seed) => {
    using place = scratch();
    const directory = place.path;
    const { databaseFile, artifactsDirectory } = readConfig({ WINDLASS_DATA_DIR: directory });
    const random = seeded(seed);
    let server = spawnServer(directory, settings);
    const times: number[] = [];
    const work: number[] = [];
    let moment = 400;
    try {
      for (let n = 0; n < killsAtStart; n += 1) {
        // Every other kill is during the creation of the store.
        if (n % 2 === 0) await sleep(random() * moment);
        else {
          for (let wait = 0; wait < 10_000 && !existsSync(databaseFile); wait += 1) await sleep(1);
          await sleep(random() * 30);
        }
        server.kill("SIGKILL");
        await server.exited;
        expect(await findBreaches(directory, new Acknowledged())).toEqual([]);
        server = spawnServer(directory, settings);
      }
      const load = new Load(random);
      load.url = await server.ready;
      moment = server.readyMilliseconds();
      times.push(moment);
      work.push(server.readyCpuMilliseconds());
      await load.start(await newLink(directory));
      const kill = async () => {
        server.kill("SIGKILL");
        // Another program may get its port, so the clients must not call there.
        load.url = nowhere;
        expect(await server.exited).toBeNull();
        expect(load.failures).toEqual([]);
        expect(await findBreaches(directory, load.acknowledged)).toEqual([]);
        server = spawnServer(directory, settings);
      };
      for (let n = 0; n < killsUnderLoad; n += 1) {
        await untilAnswered(load, 10 + Math.floor(random() * 90));
        await kill();
        // Sometimes the next server is killed before it is ready.
        while (random() < 0.2) {
          await sleep(random() * moment);
          await kill();
        }
        load.url = await server.ready;
        times.push(server.readyMilliseconds());
        work.push(server.readyCpuMilliseconds());
      }
      await untilAllKinds(load);
      await load.stop();
      expect(load.failures).toEqual([]);
      expect(await findUnserved(load)).toEqual([]);
      server.kill("SIGTERM");
      expect(await server.exited).toBe(0);
      expect(await findBreaches(directory, load.acknowledged)).toEqual([]);
      expect(await readdir(join(artifactsDirectory, "unfinished"))).toEqual([]);
      const { ended, artifacts } = load.acknowledged;
      const sorted = times.map(Math.round).toSorted((a, b) => a - b);
      const slowest = sorted.at(-1) ?? Infinity;
      process.stderr.write(
        `seed ${seed}: ${ended.size} jobs, ${artifacts.size} plans, ${load.answered} calls answered, ${load.unanswered} repeated; ready after ${sorted[sorted.length >> 1]} ms (median of ${sorted.length} starts), ${slowest} ms at most, ${Math.max(...work)} ms of them work\n`,
      );
      if (proving) expect(slowest).toBeLessThan(readyLimit);
    } finally {
      server.kill("SIGKILL");
      await server.exited;
    }
  },
  proving ? 600_000 : 240_000,
);
