import { stat } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Store } from "../../../../control-plane/store/db.ts";
import {
  deleteChunks,
  deleteOldArtifacts,
  deleteOldStates,
  deleteUnnamedArchive,
  findOldState,
  listArchives,
  listSpecsWithState,
  markOldLogs,
} from "../../../../control-plane/store/storage/retention.ts";
import {
  findDue,
  findUnnamed,
  findUnnoted,
} from "../../../../control-plane/store/storage/orphaned-blobs.ts";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import { folderForEachTest } from "../../../helpers/machine/folders.ts";

let file: string;
let store: Store;
folderForEachTest((path) => {
  file = join(path, "windlass.db");
});
beforeEach(async () => {
  store = await openSqlite(file);
});
afterEach(() => store.close());

it.each([
  ["markOldLogs", markOldLogs],
  ["deleteChunks", deleteChunks],
  ["deleteOldArtifacts", deleteOldArtifacts],
  ["deleteOldStates", deleteOldStates],
  ["findOldState", findOldState],
  ["listSpecsWithState", listSpecsWithState],
  ["listArchives", listArchives],
  ["deleteUnnamedArchive", deleteUnnamedArchive],
  ["findDue", findDue],
  ["findUnnamed", findUnnamed],
  ["findUnnoted", findUnnoted],
] as const)("%s reads by indexes and sorts nothing", (_, statement) => {
  const { sql, bindings } = statement.build(store.read.sql);
  const database = new Database(file);
  const plan = database
    .prepare(`explain query plan ${sql.replaceAll("?", "+?")}`)
    .all(...bindings.map(() => "1")) as { detail: string }[];
  database.close();
  const details = plan.map(({ detail }) => detail);
  expect(details.length).toBeGreaterThan(0);
  expect(details.filter((detail) => /SCAN (?!json_each)/.test(detail))).toEqual([]);
  expect(details.filter((detail) => detail.includes("TEMP B-TREE"))).toEqual([]);
});

it("space of deleted rows is returned to the disk in small steps", async () => {
  const log_chunk = "x".repeat(50_000);
  const rows = Array.from({ length: 200 }, (_, n) => ({
    job_id: "j",
    seq: n,
    stream_type: "STDOUT" as const,
    log_chunk,
    created_at: 1,
  }));
  await store.write(({ sql: db }) => db.insertInto("log_chunks").values(rows).execute());
  await store.write(({ sql: db }) => db.deleteFrom("log_chunks").execute());
  let rounds = 1;
  while (await store.shrink()) rounds += 1;
  expect(rounds).toBeGreaterThan(3);
  const checkpoint = new Database(file);
  checkpoint.pragma("wal_checkpoint(TRUNCATE)");
  checkpoint.close();
  expect((await stat(file)).size).toBeLessThan(1_000_000);
});
