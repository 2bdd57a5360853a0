/** A full disk and a locked database under load: the server refuses, and then recovers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { seeded } from "../helpers/plane/hostile-values.ts";
import { findBreaches } from "../helpers/load/acknowledged.ts";
import { Load } from "../helpers/load/load.ts";
import { ask } from "../helpers/plane/plane.ts";
import { findUnserved } from "../helpers/load/find-unserved.ts";
import { untilAnswered } from "../helpers/plane/control-planes.ts";
import { newLink, spawnServer } from "../helpers/plane/server-process.ts";
import { fillDisk, needsRoot, smallDisk } from "../helpers/machine/small-disk.ts";
import { proving } from "../helpers/project/proving.ts";
import { scratch } from "../helpers/agent/agent-process.ts";

const rounds = proving ? 20 : 1;

const statusOf = async (url: string, path: string) => {
  const startedAt = performance.now();
  const { status, body } = await ask({ url }, "GET", path);
  return {
    status,
    text: body.toString(),
    milliseconds: performance.now() - startedAt,
  };
};

/** Waits until `/readyz` names this problem; undefined: none. It is ready all the time. */
async function untilProblem(url: string, problem: string | undefined): Promise<void> {
  for (;;) {
    const { status, text } = await statusOf(url, "/readyz");
    expect(status).toBe(200);
    const { problems } = JSON.parse(text) as { problems: string[] };
    if (problem === undefined ? problems.length === 0 : problems.join().includes(problem)) return;
    await sleep(50);
  }
}

describe("the storage", () => {
  it(
    "when full, refuses changes with the reason, damages nothing, and works again within 10 s",
    async (context) => {
      await using disk = await smallDisk(48);
      if (!disk) return context.skip(needsRoot);
      // The log is on the same disk. A server that cannot write its log must continue.
      await using server = spawnServer(disk.path, {}, { logFile: join(disk.path, "server.log") });
      const load = new Load(seeded(11));
      load.url = await server.ready;
      await load.start(await newLink(disk.path));
      for (let round = 0; round < rounds; round += 1) {
        await untilAnswered(load, 50);
        const filler = join(disk.path, "filler");
        fillDisk(filler);
        await untilProblem(load.url, "disk is full");
        const refused = load.refused;
        await expect.poll(() => load.refused).toBeGreaterThan(refused);
        expect(load.lastRefusal).toMatchObject({ code: "storage_unavailable", retryAfter: "2" });
        await sleep(300);
        expect((await statusOf(load.url, "/healthz")).status).toBe(200);
        const { created } = load.acknowledged;
        const [job] = created;
        const read = await ask(load, "GET", `/api/cli/jobs/${job}`, { headers: load.person });
        expect(read.status).toBe(200);
        rmSync(filler);
        const freedAt = performance.now();
        await untilAnswered(load, 50);
        expect(performance.now() - freedAt).toBeLessThan(10_000);
        expect(load.failures).toEqual([]);
      }
      // The problem disappears with the next check of the disk, after up to 5 s. In that time the
      // load could write 40 MB itself.
      await load.stop();
      await untilProblem(load.url, undefined);
      expect(load.failures).toEqual([]);
      expect(load.refused).toBeGreaterThan(0);
      expect(await findUnserved(load)).toEqual([]);
      server.kill("SIGTERM");
      expect(await server.exited).toBe(0);
      expect(await findBreaches(disk.path, load.acknowledged)).toEqual([]);
    },
    rounds * 120_000,
  );

  it("when locked by another program, serves reads, refuses changes after a wait, and works again after the lock", async () => {
    using place = scratch();
    const directory = place.path;
    await using server = spawnServer(directory);
    const load = new Load(seeded(12));
    load.url = await server.ready;
    await load.start(await newLink(directory));
    await untilAnswered(load, 50);
    const lock = await holdLock(join(directory, "windlass.db"));
    const named = untilProblem(load.url, "another program holds a lock");
    const slowest: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      slowest.push((await statusOf(load.url, "/healthz")).milliseconds);
      const started = performance.now();
      const jobs = await ask(load, "GET", "/api/jobs?limit=1", { headers: load.person });
      expect(jobs.status).toBe(200);
      slowest.push(performance.now() - started);
      await sleep(50);
    }
    // Only changes wait for the lock.
    expect(Math.max(...slowest)).toBeLessThan(3000);
    await named;
    await expect.poll(() => load.refused).toBeGreaterThan(0);
    lock.stdin?.end();
    await once(lock, "exit");
    const freedAt = performance.now();
    await untilAnswered(load, 50);
    expect(performance.now() - freedAt).toBeLessThan(10_000);
    await untilProblem(load.url, undefined);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(await findUnserved(load)).toEqual([]);
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    expect(await findBreaches(directory, load.acknowledged)).toEqual([]);
  });
});

/** Starts a process that holds the write lock, as a careless backup does, until its stdin ends. */
async function holdLock(file: string) {
  const script = `
    import Database from "better-sqlite3";
    const database = new Database(process.argv[1], { timeout: 10000 });
    database.exec("begin immediate");
    process.stdout.write("locked");
    process.stdin.on("end", () => database.exec("rollback")).resume();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script, file], {
    cwd: import.meta.dirname,
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}
