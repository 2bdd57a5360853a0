/**
 * A server that is stopped (SIGSTOP) as by a debugger or a machine without memory, and continued:
 * alone, and beside another one on the same PostgreSQL.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { expect, test } from "vitest";
import type { JobRow } from "../../control-plane/domain/job.ts";
import { hashToken } from "../../control-plane/domain/tokens.ts";
import type { Store } from "../../control-plane/store/db.ts";
import { openPostgresBeside } from "../../control-plane/store/engines/postgres.ts";
import { findJob } from "../../control-plane/store/jobs/jobs.ts";
import { findWorker } from "../../control-plane/store/workers/workers.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { sharedSettings } from "../helpers/plane/control-planes.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { ask } from "../helpers/plane/plane.ts";
import { postgresProxy } from "../helpers/store/postgres-proxy.ts";
import { command, startPostgres } from "../helpers/store/postgres.ts";
import { postgresForFile } from "../helpers/store/postgres-for-file.ts";
import { addJob, addOwner, addWorker, type Owner } from "../helpers/plane/rows.ts";
import { spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";

const postgres = postgresForFile();

const offlineSeconds = 8;
const lostSeconds = 10;

interface Stage {
  readonly servers: readonly ServerProcess[];
  readonly urls: readonly string[];
  readonly store: Store;
  readonly owner: Owner;
  readonly client: pg.Client;
}

/** Starts servers on one new database, and ends them after `use`. */
async function withServers(count: number, use: (stage: Stage) => Promise<void>): Promise<void> {
  using place = scratch();
  const databaseUrl = await postgres.server.createMigrated();
  const settings = {
    ...sharedSettings(databaseUrl, place.path),
    WINDLASS_OFFLINE_SECONDS: String(offlineSeconds),
    WINDLASS_LOST_SECONDS: String(lostSeconds),
  };
  const store = await openPostgresBeside({ url: databaseUrl, connections: 2 });
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on("error", () => undefined);
  const servers = Array.from({ length: count }, (_, n) =>
    spawnServer(join(place.path, `data-${n}`), settings),
  );
  try {
    await client.connect();
    const urls = await Promise.all(servers.map(({ ready }) => ready));
    await use({ servers, urls, store, owner: await addOwner(store), client });
    for (const server of servers) server.kill("SIGTERM");
    expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual(servers.map(() => 0));
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    await Promise.all(servers.map(({ exited }) => exited));
    await client.end();
    await store.close();
  }
}

/** A runner with a job that it has started. */
class Runner {
  readonly #stage: Stage;
  readonly worker: string;
  readonly job: string;
  private constructor(stage: Stage, worker: string, { id }: JobRow) {
    this.#stage = stage;
    this.worker = worker;
    this.job = id;
  }

  static async add(stage: Stage): Promise<Runner> {
    const { store, owner } = stage;
    const now = Date.now();
    const { id } = await addWorker(store, owner, {
      token_hash: hashToken("token"),
      last_heartbeat_at: now,
      created_at: now,
    });
    const held = { status: "PROCESSING", worker_id: id, attempt: 1, claimed_at: now } as const;
    return new Runner(stage, id, await addJob(store, owner, { ...held, started_at: now }));
  }

  #send(url: string, method: string, path: string, json: object): Promise<{ status: number }> {
    const headers = { "x-worker-id": this.worker, "x-worker-token": "token" };
    return ask({ url }, method, path, { headers, json });
  }

  async beat(url: string): Promise<number> {
    const json = { version: "1.0.0", active_job_ids: [this.job] };
    return (await this.#send(url, "POST", "/api/workers/heartbeat", json)).status;
  }

  async report(url: string): Promise<number> {
    const json = { status: "SUCCESS" };
    return (await this.#send(url, "PUT", `/api/jobs/${this.job}/status`, json)).status;
  }

  async isOffline(): Promise<boolean> {
    const row = await this.#stage.store.read.first(findWorker, { id: this.worker });
    return row?.offline_at !== null;
  }

  async status(): Promise<string | undefined> {
    return (await this.#stage.store.read.first(findJob, { id: this.job }))?.status;
  }
}

// They mostly wait.
test.concurrent.for([1, 2])(
  "of %i servers one is stopped for longer than a runner may be silent: no job is lost",
  async (count) => {
    await withServers(count, async (stage) => {
      const { servers, urls, client } = stage;
      // The stopped one is the first. One runner is heard all the time, the other one was OFFLINE.
      const [first, last] = [urls[0]!, urls.at(-1)!];
      const [heard, silent] = [await Runner.add(stage), await Runner.add(stage)];
      await client.query("update workers set last_heartbeat_at = 1 where id = $1", [silent.worker]);
      do expect(await heard.beat(first)).toBe(200);
      while (!(await silent.isOffline()));
      servers[0]!.kill("SIGSTOP");
      const stoppedAt = performance.now();
      const seconds = () => (performance.now() - stoppedAt) / 1000;
      while (seconds() < lostSeconds + 1) {
        if (count > 1)
          for (const runner of [heard, silent]) expect(await runner.beat(last)).toBe(200);
        await sleep(100);
      }
      servers[0]!.kill("SIGCONT");
      // Its first rounds come before it hears from any runner.
      const rounds = count > 1 ? 20 : 10;
      for (let n = 0; n < rounds; n += 1) {
        expect(await heard.isOffline()).toBe(false);
        for (const runner of [heard, silent]) expect(await runner.status()).toBe("PROCESSING");
        await sleep(50);
      }
      for (const runner of [heard, silent]) {
        expect(await runner.beat(first)).toBe(200);
        expect(await runner.isOffline()).toBe(false);
        expect(await runner.report(first)).toBe(200);
        expect(await runner.status()).toBe("SUCCESS");
      }
    });
  },
);

test.concurrent("a server that is stopped in the middle of a change blocks another one for ten seconds at most, and recovers", async ({
  expect,
}) => {
  await withServers(2, async (stage) => {
    const { servers, urls, client } = stage;
    const [ending, other] = [await Runner.add(stage), await Runner.add(stage)];
    await client.query("begin");
    await client.query("select from jobs where id = $1 for update", [ending.job]);
    // It has the lock of changes, and waits for the row of the job.
    const report = ending.report(urls[0]!);
    await expect.poll(async () => (await client.query(waiting)).rows[0].count).toBe(1);
    servers[0]!.kill("SIGSTOP");
    await client.query("rollback");
    await expect.poll(async () => (await client.query(paused)).rows).toHaveLength(1);
    // It has locked that row now. No call is refused: the lock is free before their wait ends.
    const began = performance.now();
    expect(await Promise.all([other.beat(urls[1]!), other.report(urls[1]!)])).toEqual([200, 200]);
    const waited = performance.now() - began;
    // PostgreSQL releases the locks of a session before it shows its end.
    await expect.poll(async () => (await client.query(paused)).rows).toHaveLength(0);
    expect(await ending.status()).toBe("PROCESSING");
    servers[0]!.kill("SIGCONT");
    expect(await report).toBe(503);
    await expect.poll(() => ending.report(urls[0]!)).toBe(200);
    expect(await ending.status()).toBe("SUCCESS");
    process.stderr.write(`the other server waited ${Math.round(waited)} ms\n`);
  });
});

test.concurrent("a server that is stopped while PostgreSQL sends it much does not keep the lock of changes", async ({
  expect,
}) => {
  const port = await freePort();
  const onTcp = await startPostgres({ port });
  const { pathname } = new URL(await onTcp.createMigrated());
  const at = (toPort: number) => `postgres://windlass@127.0.0.1:${toPort}${pathname}`;
  const proxy = await postgresProxy(port);
  const stopped = await openPostgresBeside({ url: at(proxy.port), connections: 2 });
  const other = await openPostgresBeside({ url: at(port), connections: 2 });
  const running = Promise.withResolvers<number>();
  try {
    const change = stopped.write(async ({ sql: db }) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
      running.resolve(rows[0]!.pid);
      proxy.stop();
      await sql`select repeat('x', 1000000) from generate_series(1, 100)`.execute(db);
    });
    const failure = change.catch((error: unknown) => error);
    const backend = `select from pg_stat_activity where pid = ${await running.promise}`;
    const left = async () => (await command(at(port), backend)).rowCount;
    // Before the driver would give up by itself, which a stopped server does not.
    await expect.poll(left, { timeout: 30_000 }).toBe(0);
    await other.write(async ({ sql: db }) => void (await sql`select 1`.execute(db)));
    await proxy[Symbol.asyncDispose]();
    expect(await failure).toMatchObject({ code: "STORE_UNREACHABLE" });
  } finally {
    await Promise.all([stopped.close(), other.close()]);
    await onTcp.close();
  }
});

const windlass = "select pid from pg_stat_activity where application_name = 'windlass'";
/** Counts transactions of servers that wait for a row, and so for the transaction that locked it. */
const waiting = `select count(*)::int as count from pg_locks
  where not granted and locktype = 'transactionid' and pid in (${windlass})`;
/** Transactions of servers that do nothing, and hold the lock of changes alone. */
const paused = `${windlass} and state = 'idle in transaction' and pid in
  (select pid from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and granted)`;
