/** PostgreSQL away for a while: what control planes decide then, and that wakeups arrive again. */
import { expect, it } from "vitest";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { sql } from "kysely";
import pg from "pg";
import { readConfig } from "../../control-plane/config.ts";
import { openContext, type OpenContext } from "../../control-plane/context.ts";
import { workerWatch } from "../../control-plane/services/workers/watch.ts";
import { changesLock } from "../../control-plane/store/engines/postgres-locks.ts";
import { findNow } from "../../control-plane/store/operations/now.ts";
import { findWorker, recordHeartbeat } from "../../control-plane/store/workers/workers.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { asServer, command } from "../helpers/store/postgres.ts";
import { postgresForFile } from "../helpers/store/postgres-for-file.ts";
import { ask, startPlane } from "../helpers/plane/plane.ts";
import { addOwner, addWorker } from "../helpers/plane/rows.ts";

const postgres = postgresForFile();

/** Opens control planes on one new database, which do not listen, and closes them after `use`. */
async function withControlPlanes(
  count: number,
  use: (contexts: readonly OpenContext[], url: string) => Promise<void>,
): Promise<void> {
  using place = scratch();
  const url = await postgres.server.create();
  const settings = {
    WINDLASS_DATABASE_URL: url,
    WINDLASS_DATABASE_CONNECTIONS: "4",
    WINDLASS_ARTIFACTS_URL: `file:${join(place.path, "blobs")}`,
    CLI_JWT_SECRET: "j".repeat(40),
    WINDLASS_SECRET_KEY: "k".repeat(40),
  };
  const contexts: OpenContext[] = [];
  try {
    for (let n = 0; n < count; n += 1)
      contexts.push(
        await openContext(
          readConfig({ ...settings, WINDLASS_DATA_DIR: join(place.path, `data-${n}`) }),
        ),
      );
    await use(contexts, url);
  } finally {
    for (const context of contexts) await context.close();
  }
}

it("no worker is offline because the server was stopped, or the database was away", async () => {
  await withControlPlanes(1, async ([context]) => {
    let now = 1_000_000_000;
    const { store, periods, clock } = context!;
    const round = workerWatch({ ...context!, now: () => now }, clock, () => undefined);
    const owner = await addOwner(store);
    const { id } = await addWorker(store, owner, { last_heartbeat_at: now });
    const isOffline = async () => (await store.read.first(findWorker, { id }))?.offline_at !== null;
    /** Lets the period pass, with a round now and then. */
    const watchPeriod = async () => {
      for (let n = 0; n < 5; n += 1) {
        now += periods.offline / 5;
        await round();
      }
    };
    await round();
    // The process was stopped, as by SIGSTOP, or its machine suspended.
    now += 100 * periods.offline;
    await round();
    expect(await isOffline()).toBe(false);
    await postgres.server.kill();
    now += 100 * periods.offline;
    await expect(round()).rejects.toMatchObject({ code: "STORE_UNREACHABLE" });
    await postgres.server.restart();
    await round();
    expect(await isOffline()).toBe(false);
    await watchPeriod();
    expect(await isOffline()).toBe(true);
  });
});

it("no worker is offline because the server was stopped in the middle of a round", async () => {
  await withControlPlanes(1, async ([context], url) => {
    let now = 1_000_000_000;
    const { store, periods, clock } = context!;
    const round = workerWatch({ ...context!, now: () => now }, clock, () => undefined);
    const owner = await addOwner(store);
    const { id } = await addWorker(store, owner);
    const hearFromWorker = () =>
      store.write((tx) => tx.run(recordHeartbeat, { ...heartbeat, id, now }));
    const other = new pg.Client({ connectionString: url });
    other.on("error", () => undefined);
    await other.connect();
    // What a round waits for: before the server has been ready for a period, and afterwards.
    for (const held of [
      "lock table facts in access exclusive mode",
      `select pg_advisory_xact_lock(${changesLock})`,
    ]) {
      await hearFromWorker();
      // A round writes only when a worker has been silent.
      await addWorker(store, owner, { last_heartbeat_at: 1 });
      await other.query(`begin; ${held}`);
      const stopped = round();
      await expect.poll(async () => (await other.query(waiting)).rows[0].count).toBeGreaterThan(0);
      now += 100 * periods.offline;
      await other.query("commit");
      await stopped;
      await round();
      expect((await store.read.first(findWorker, { id }))?.offline_at).toBeNull();
      for (let n = 0; n < 5; n += 1) {
        now += periods.offline / 5;
        await hearFromWorker();
        await round();
      }
    }
    await other.end();
  });
});

it("a server whose clock differs from that of the database follows it, and ends no job by it", async () => {
  await withControlPlanes(1, async ([context]) => {
    const { store, clock, periods } = context!;
    const round = workerWatch(context!, clock, () => undefined);
    const { id } = await addWorker(store, await addOwner(store), {
      last_heartbeat_at: await findNow(store.read),
    });
    await round();
    // Its machine was suspended, or that of the database has another time after a failover.
    for (const by of [-100 * periods.offline, 100 * periods.offline]) {
      clock.shift(by);
      await expect
        .poll(async () => {
          await round();
          return Math.abs(clock.now() - (await findNow(store.read)));
        })
        .toBeLessThan(2000);
      expect((await store.read.first(findWorker, { id }))?.offline_at).toBeNull();
    }
  });
});

const heartbeat = {
  version: "1.0.0",
  instance_id: null,
  hostname: null,
  os: null,
  arch: null,
  capacity: null,
  isolation: null,
  labels: null,
  features: "[]",
  active_job_ids: null,
};
/** Counts who waits for a lock. */
const waiting = "select count(*)::int as count from pg_locks where not granted";

it("wakeups arrive again after the database was restarted, and waiters are told to look", async () => {
  await withControlPlanes(2, async ([first, second]) => {
    const heardBy = first!.wakeups;
    const notifier = second!.wakeups;
    const heard: string[] = [];
    heardBy.listen("login", (id) => heard.push(id));
    let missed = 0;
    heardBy.onMissed(() => void (missed += 1));
    await postgres.server.restart();
    await expect.poll(() => missed).toBeGreaterThan(0);
    await expect
      .poll(() => {
        notifier.notify("login", "again");
        return heard;
      })
      .toContain("again");
  });
});

it("a server is not ready while the database is away, and is while its connections are in use", async () => {
  const folder = scratch();
  const plane = await startPlane({
    WINDLASS_DATABASE_URL: await postgres.server.create(),
    WINDLASS_DATABASE_CONNECTIONS: "4",
    WINDLASS_ARTIFACTS_URL: `file:${join(folder.path, "blobs")}`,
    CLI_JWT_SECRET: "j".repeat(40),
    WINDLASS_SECRET_KEY: "k".repeat(40),
    WINDLASS_LOG_LEVEL: "silent",
  });
  const readyz = async () => (await ask(plane, "GET", "/readyz")).status;
  try {
    expect(await readyz()).toBe(200);
    const sleepers = Array.from({ length: 3 }, () =>
      sql`select pg_sleep(2)`.execute(plane.context.store.read.sql),
    );
    for (let n = 0; n < 3; n += 1) expect(await readyz()).toBe(200);
    await Promise.allSettled(sleepers);
    await postgres.server.kill();
    await expect.poll(readyz, { timeout: 30_000 }).toBe(503);
    await postgres.server.restart();
    await expect.poll(readyz, { timeout: 30_000 }).toBe(200);
  } finally {
    await plane.close().catch(() => undefined);
    folder[Symbol.dispose]();
  }
});

it("a database without free connections is busy: calls are refused for now, and the server stays ready", async () => {
  using folder = scratch();
  const url = await postgres.server.createMigrated();
  const plane = await startPlane({
    WINDLASS_DATABASE_URL: asServer(url),
    WINDLASS_DATABASE_CONNECTIONS: "4",
    WINDLASS_ARTIFACTS_URL: `file:${join(folder.path, "blobs")}`,
    CLI_JWT_SECRET: "j".repeat(40),
    WINDLASS_SECRET_KEY: "k".repeat(40),
  });
  const call = async () => {
    // Another worker each time, so that the server asks the database.
    const headers = { "x-worker-id": randomUUID(), "x-worker-token": "wlw_none" };
    const beat = { headers, json: { version: "1.0.0", active_job_ids: [] } };
    const { status, headers: answered } = await ask(plane, "POST", "/api/workers/heartbeat", beat);
    return [status, answered["retry-after"]];
  };
  const readyz = async () => (await ask(plane, "GET", "/readyz")).status;
  try {
    expect(await call()).toEqual([401, undefined]);
    await command(url, "alter role server connection limit 0");
    await command(
      url,
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'server'",
    );
    await expect.poll(call).toEqual([503, "2"]);
    await expect.poll(readyz).toBe(200);
    await command(url, "alter role server connection limit -1");
    await expect.poll(call).toEqual([401, undefined]);
  } finally {
    // It has logged what it refused.
    await plane.close().catch(() => undefined);
  }
});
