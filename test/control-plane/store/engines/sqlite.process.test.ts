import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { findResourceEvents, findStepEvents } from "../../../../control-plane/store/logs/logs.ts";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import type { CompiledStatement } from "../../../../control-plane/store/statement.ts";
import { storeContract } from "./contract.ts";

async function openStore() {
  const directory = await mkdtemp(join(tmpdir(), "store-"));
  const file = join(directory, "windlass.db");
  const store = await openSqlite(file);
  return {
    file,
    store,
    remove: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

storeContract("SQLite", openStore);

it("concurrent processes create one schema", async () => {
  const directory = await mkdtemp(join(tmpdir(), "store-"));
  const script = `
    import { openSqlite } from ${JSON.stringify(new URL("../../../../control-plane/store/engines/sqlite.ts", import.meta.url).href)};
    const store = await openSqlite(process.argv[1]);
    await store.close();`;
  const start = () =>
    promisify(execFile)(process.execPath, [
      "--input-type=module-typescript",
      "--eval",
      script,
      join(directory, "windlass.db"),
    ]);
  await Promise.all([start(), start(), start(), start()]);
  await rm(directory, { recursive: true });
});

it("data of a newer release is refused and left unchanged", async () => {
  const { file, store, remove } = await openStore();
  const database = new Database(file);
  database.exec("update schema_version set version = 999, compatible_since = 998");
  await expect(openSqlite(file)).rejects.toThrow(/newer Windlass/);
  expect(database.prepare("select version from schema_version").pluck().get()).toBe(999);
  database.close();
  await store.read.sql.selectFrom("jobs").selectAll().execute();
  await remove();
});

it("the journal mode is WAL, so that readers never wait for the writer", async () => {
  const { file, remove } = await openStore();
  const database = new Database(file);
  expect(database.pragma("journal_mode", { simple: true })).toBe("wal");
  database.close();
  await remove();
});

it("the steps and resources of a job are found by indexes among all chunks of its log", async () => {
  const { file, store, remove } = await openStore();
  const database = new Database(file);
  const steps = planOf(database, findStepEvents.build(store.read.sql));
  expect(steps.join()).toMatch(/^SEARCH .* log_chunks_step [^,]*$/);
  const resources = planOf(database, findResourceEvents.build(store.read.sql));
  expect(resources.join()).toMatch(/^SEARCH .* log_chunks_resource [^,]*$/);
  database.close();
  await remove();
});

/** The query plan as the store runs the statement, with its parameters hidden from the planner. */
const planOf = (database: Database.Database, { sql, bindings }: CompiledStatement): string[] =>
  database
    .prepare<string[], { detail: string }>(`explain query plan ${sql.replaceAll("?", "+?")}`)
    .all(...bindings.map(() => "1"))
    .map(({ detail }) => detail);
