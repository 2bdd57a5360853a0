/**
 * SQLite's write-ahead log stays short, and a disk that it has filled becomes usable again without
 * an operator.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { Store } from "../../../../control-plane/store/db.ts";
import { findFact, setFact } from "../../../../control-plane/store/facts.ts";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import { addTestWorker, ask, startPlane } from "../../../helpers/plane/plane.ts";
import { addOwner } from "../../../helpers/plane/rows.ts";
import { needsRoot, smallDisk } from "../../../helpers/machine/small-disk.ts";

/** The size to which the store truncates the log after a checkpoint was prevented. */
const limitBytes = 8 * 1024 * 1024;
/** SQLite starts a checkpoint at 1,000 pages. */
const usualBytes = 4_600_000;
/** Each adds 4 KB to the log. Without complete checkpoints, 1,250 add up to 5.2 MB. */
const heartbeats = process.env["WINDLASS_PROVE"] === "1" ? 100_000 : 1_250;
const long = 120_000;

/**
 * Starts a read of another process, such as a backup. The log cannot be truncated until it ends.
 */
function readFrom(file: string): () => void {
  const reader = new Database(file, { readonly: true });
  reader.exec("begin");
  reader.prepare("select * from facts").all();
  return () => reader.close();
}

/** A change that adds one page to the log and none to the database. */
const change = (store: Store, n: number) =>
  store.write((tx) => setFact(tx, "number", String(1_000_000 + n)));

async function changeUntilFull(store: Store): Promise<void> {
  for (let n = 0; ; n += 1) await change(store, n);
}

/** Opens a store whose database has room for what `change` writes. */
async function openPrepared(file: string): Promise<Store> {
  const store = await openSqlite(file);
  await change(store, 0);
  const other = new Database(file);
  other.pragma("wal_checkpoint(TRUNCATE)");
  other.close();
  return store;
}

describe("the write-ahead log", () => {
  it(
    "stays below its limit however many heartbeats arrive, and its size is in the metrics",
    async () => {
      const plane = await startPlane();
      const worker = await addTestWorker(plane, await addOwner(plane.context.store));
      const headers = { ...worker.headers, "content-type": "application/json" };
      const body = JSON.stringify({ version: "1.0.0" });
      let longest = 0;
      for (let n = 0; n < heartbeats; n += 1) {
        const { status } = await ask(plane, "POST", "/api/workers/heartbeat", { headers, body });
        expect(status).toBe(200);
        longest = Math.max(longest, plane.context.store.walBytes());
      }
      expect(longest).toBeLessThan(usualBytes);
      const metrics = (await ask(plane, "GET", "/metrics")).text;
      const shown = Number(/^windlass_database_wal_bytes (\d+)$/m.exec(metrics)?.[1]);
      expect(shown).toBeGreaterThan(0);
      expect(shown).toBeLessThan(usualBytes);
      await plane.close();
    },
    long,
  );

  it(
    "is truncated by the next round of the watch after a long read of another process",
    async () => {
      const directory = await mkdtemp(join(tmpdir(), "wal-"));
      const file = join(directory, "windlass.db");
      const store = await openSqlite(file);
      const endRead = readFrom(file);
      for (let n = 0; store.walBytes() <= limitBytes; n += 1)
        await store.write((tx) => setFact(tx, "large", `${n}`.repeat(1_000_000)));
      store.boundWal();
      expect(store.walBytes()).toBeGreaterThan(limitBytes);
      endRead();
      // A read of the store itself does not prevent it.
      await findFact(store.read, "large");
      store.boundWal();
      expect(store.walBytes()).toBe(0);
      await store.close();
      await rm(directory, { recursive: true });
    },
    long,
  );

  it(
    "that has filled the disk makes room again once no reader needs it",
    async (context) => {
      await using disk = await smallDisk(8);
      if (!disk) return context.skip(needsRoot);
      const file = join(disk.path, "windlass.db");
      const store = await openPrepared(file);
      const endRead = readFrom(file);
      await expect(changeUntilFull(store)).rejects.toMatchObject({ code: "SQLITE_FULL" });
      expect(store.walBytes()).toBeGreaterThan(6_000_000);
      await expect(change(store, -1)).rejects.toMatchObject({ code: "SQLITE_FULL" });
      endRead();
      // Refused as well, but it makes room for the next write.
      await expect(change(store, -2)).rejects.toMatchObject({ code: "SQLITE_FULL" });
      await change(store, -3);
      expect(await findFact(store.read, "number")).toBe("999997");
      expect(store.walBytes()).toBeLessThan(100_000);
      await store.close();
    },
    long,
  );

  it(
    "that has filled the disk before a kill does not prevent the next start",
    async (context) => {
      await using disk = await smallDisk(8);
      if (!disk) return context.skip(needsRoot);
      const file = join(disk.path, "windlass.db");
      await (await openPrepared(file)).close();
      const killed = `
        import Database from "better-sqlite3";
        const [reader, writer] = [new Database(process.argv[1]), new Database(process.argv[1])];
        reader.exec("begin");
        reader.prepare("select * from facts").all();
        const update = writer.prepare("update facts set value = ? where name = 'number'");
        try {
          for (let n = 2000000; ; n += 1) update.run(String(n));
        } catch {
          process.kill(process.pid, "SIGKILL");
        }`;
      const run = promisify(execFile)(
        process.execPath,
        ["--input-type=module", "--eval", killed, file],
        { cwd: import.meta.dirname },
      );
      await expect(run).rejects.toMatchObject({ signal: "SIGKILL" });
      const store = await openSqlite(file);
      expect(Number(await findFact(store.read, "number"))).toBeGreaterThan(2_000_000);
      await change(store, 1);
      await store.close();
    },
    long,
  );
});
