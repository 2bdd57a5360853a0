import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { claimAnyJob, claimOwnJob } from "../../../control-plane/store/claim.ts";
import {
  findLaterStarted,
  findNextOfSpec,
  findQueuedTeardowns,
} from "../../../control-plane/store/jobs.ts";
import { findSystemChunks } from "../../../control-plane/store/logs.ts";
import { openSqlite } from "../../../control-plane/store/sqlite.ts";
import type { CompiledStatement } from "../../../control-plane/store/statement.ts";
import { addJob, addOwner, addSpec } from "../../helpers/rows.ts";
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

it("lets several processes that start together make one schema", async () => {
  const directory = await mkdtemp(join(tmpdir(), "store-"));
  const script = `
    import { openSqlite } from ${JSON.stringify(new URL("../../../control-plane/store/sqlite.ts", import.meta.url).href)};
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

it("refuses data of a newer release and leaves it as it is", async () => {
  const { file, store, remove } = await openStore();
  const database = new Database(file);
  database.exec("update schema_version set version = 999");
  await expect(openSqlite(file)).rejects.toThrow(/newer Windlass/);
  expect(database.prepare("select version from schema_version").pluck().get()).toBe(999);
  database.close();
  await store.read.sql.selectFrom("jobs").selectAll().execute();
  await remove();
});

it("writes ahead, so that readers never wait for the writer", async () => {
  const { file, remove } = await openStore();
  const database = new Database(file);
  expect(database.pragma("journal_mode", { simple: true })).toBe("wal");
  database.close();
  await remove();
});

it("claims by its index, also after ANALYZE has seen only queued jobs", async () => {
  const { file, store, remove } = await openStore();
  const owner = await addOwner(store);
  for (let count = 0; count < 50; count += 1) await addJob(store, owner);
  const database = new Database(file);
  database.exec("analyze");
  for (const [claim, index] of [
    [claimOwnJob, "jobs_queued"],
    [claimAnyJob, "jobs_queued_all"],
  ] as const) {
    const details = planOf(database, claim.build(store.read.sql));
    expect(details.some((detail) => detail.includes(`j USING`) && detail.includes(index))).toBe(
      true,
    );
    expect(
      details.filter((detail) => /SCAN (j|busy|held|state_locks)\b(?!.*INDEX)/.test(detail)),
    ).toEqual([]);
    expect(details.filter((detail) => detail.includes("TEMP B-TREE"))).toEqual([]);
  }
  database.close();
  await remove();
});

it("asks what follows from a job's end without reading the queue or a configuration's history", async () => {
  const { file, store, remove } = await openStore();
  const owner = await addOwner(store);
  const spec_id = await addSpec(store, owner);
  for (let count = 0; count < 50; count += 1)
    await addJob(store, owner, { spec_id, status: "SUCCESS", released_at: 1 });
  const database = new Database(file);
  database.exec("analyze");
  for (const [statement, index] of [
    [findNextOfSpec, "jobs_queued_spec (spec_id=?)"],
    [findQueuedTeardowns, "jobs_queued_assigned (assigned_worker_id=?)"],
    [findLaterStarted, "jobs_spec_started (spec_id=? AND claimed_at>?)"],
  ] as const)
    expect(planOf(database, statement.build(store.read.sql)).join()).toContain(index);
  database.close();
  await remove();
});

it("finds a runner's own lines among all others of a log by their index", async () => {
  const { file, store, remove } = await openStore();
  const database = new Database(file);
  const plan = planOf(database, findSystemChunks.build(store.read.sql));
  expect(plan.join()).toMatch(/^SEARCH .* log_chunks_system [^,]*$/);
  database.close();
  await remove();
});

/** As the store runs it: it hides its parameters from the planner. */
const planOf = (database: Database.Database, { sql, bindings }: CompiledStatement): string[] =>
  database
    .prepare<string[], { detail: string }>(`explain query plan ${sql.replaceAll("?", "+?")}`)
    .all(...bindings.map(() => "1"))
    .map(({ detail }) => detail);
