/**
 * Two real servers on one PostgreSQL under load, each killed with kill -9 in turn, and PostgreSQL
 * itself. Clients repeat their calls at the other server: every job runs once, and nothing
 * acknowledged is lost.
 */
import { join } from "node:path";
import Database from "better-sqlite3";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createLink } from "../../control-plane/services/people/logins.ts";
import { openPostgresBeside } from "../../control-plane/store/engines/postgres.ts";
import { openSqlite } from "../../control-plane/store/engines/sqlite.ts";
import type { Store } from "../../control-plane/store/db.ts";
import { findBreaches } from "../helpers/acknowledged.ts";
import { scratch } from "../helpers/agent-process.ts";
import { findUnserved } from "../helpers/find-unserved.ts";
import { seeded } from "../helpers/hostile-values.ts";
import { Load } from "../helpers/load.ts";
import { lackOfPostgres, startPostgres } from "../helpers/postgres.ts";
import { proving } from "../helpers/proving.ts";
import { spawnServer, type ServerProcess } from "../helpers/server-process.ts";
import { skipAt } from "../helpers/tools.ts";

skipAt(lackOfPostgres());

const kills = proving ? 60 : 6;
/** An address that refuses connections. */
const nowhere = "http://127.0.0.1:1";

test("kill -9 of one of two servers, and of the database, loses and doubles nothing", async () => {
  using place = scratch();
  const database = await startPostgres();
  const url = await database.create();
  const settings = {
    WINDLASS_DATABASE_URL: url,
    WINDLASS_ARTIFACTS_URL: `file:${join(place.path, "blobs")}`,
    CLI_JWT_SECRET: "j".repeat(40),
    WINDLASS_SECRET_KEY: "k".repeat(40),
  };
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
    await load.start(await newLink(url));
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
    const { ended, logs, states, artifacts } = load.acknowledged;
    const parts = [ended, logs, states, artifacts];
    while (parts.some(({ size }) => size < 3) && load.failures.length === 0)
      await untilAnswered(load, 1);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(await findUnserved(load)).toEqual([]);
    for (const server of servers) server.kill("SIGTERM");
    expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual([0, 0]);
    await copyToSqlite(url, join(place.path, "windlass.db"));
    expect(await findBreaches(place.path, load.acknowledged)).toEqual([]);
    process.stderr.write(
      `${ended.size} jobs, ${artifacts.size} plans, ${load.answered} calls answered, ${load.unanswered} repeated, ${load.refused} refused with 503\n`,
    );
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    await Promise.all(servers.map(({ exited }) => exited));
    await database.close();
  }
});

async function newLink(url: string): Promise<string> {
  const store = await openPostgresBeside({ url, connections: 2 });
  try {
    return `/login/link/${await createLink(store, "ada@example.com", Date.now())}`;
  } finally {
    await store.close();
  }
}

/** Copies all tables, so that the checks of a SQLite file apply. */
async function copyToSqlite(url: string, file: string): Promise<void> {
  await (await openSqlite(file)).close();
  const store = await openPostgresBeside({ url, connections: 2 });
  const copy = new Database(file);
  try {
    copy.pragma("foreign_keys = OFF");
    const tables = copy
      .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
      .pluck()
      .all() as string[];
    for (const table of tables) await copyTable(store, copy, table);
  } finally {
    copy.close();
    await store.close();
  }
}

async function copyTable(store: Store, copy: Database.Database, table: string): Promise<void> {
  const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(
    store.read.sql,
  );
  const [first] = rows;
  if (first === undefined) return;
  const names = Object.keys(first);
  const insert = copy.prepare(
    `insert or replace into ${table} (${names.join()}) values (${names.map(() => "?").join()})`,
  );
  for (const row of rows) insert.run(...names.map((name) => row[name]));
}

/** Waits until the clients have received this many more responses. */
async function untilAnswered(load: Load, more: number): Promise<void> {
  const before = load.answered;
  while (load.answered < before + more && load.failures.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
}
