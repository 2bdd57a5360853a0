import { randomUUID } from "node:crypto";
import Database from "better-sqlite3";
import { backupsFrom, backupsTo } from "../facts.ts";
import { checkSchema, type StoredSchema } from "../migrate.ts";
import { blobTables } from "./blob-tables.ts";
import { hour } from "../../../common/units.ts";

/** Keeps a copy's blobs from being deleted, by any process, until the release. */
export interface BlobPin {
  renew(): void;
  release(): void;
}

/** Bounds how long a crashed backup holds up deletions; a large copy takes less. */
const pinMilliseconds = 6 * hour;

/**
 * Copies the database of a server, which may be running, to a new file. A copy in one read
 * transaction and not the engine's online backup: that begins anew whenever another process has
 * written. The blobs are pinned before: whatever the copy names is there until the pin is released,
 * because a deletion checks for pins after it has removed the row.
 */
export function snapshotDatabase(file: string, copy: string): BlobPin {
  const database = new Database(file, { timeout: 30_000, fileMustExist: true });
  const name = `${backupsFrom}${randomUUID()}`;
  const pin: BlobPin = {
    renew: () =>
      void database
        .prepare(
          "insert into facts values (?, ?) on conflict (name) do update set value = excluded.value",
        )
        .run(name, String(Date.now() + pinMilliseconds)),
    release: () => {
      database
        .prepare(
          "delete from facts where name = ? or (name > ? and name < ? and cast(value as integer) < ?)",
        )
        .run(name, backupsFrom, backupsTo, Date.now());
      database.close();
    },
  };
  try {
    checkSchema(schemaOf(database));
    pin.renew();
    // So that the copy can give space back to the disk, however old the original is.
    database.pragma("auto_vacuum = INCREMENTAL");
    database.prepare("vacuum into ?").run(copy);
    return pin;
  } catch (error) {
    if (database.open) pin.release();
    throw error;
  }
}

/** A database that no server uses: the copy in a backup. */
export interface Snapshot {
  readonly schema: number;
  blobs(): string[];
  /** Returns what the engine finds wrong; empty if nothing. */
  defects(): string[];
  fact(name: string): string | undefined;
  setFact(name: string, value: string): void;
  removePins(): void;
  close(): void;
}

/** Opens a copy. Throws when it is no database. */
export function openSnapshot(file: string): Snapshot {
  const database = new Database(file, { fileMustExist: true });
  return {
    schema: schemaOf(database).version,
    blobs: () =>
      database
        .prepare(
          blobTables
            .filter((table) => hasTable(database, table))
            .map((table) => `select blob from ${table}`)
            .join(" union "),
        )
        .pluck()
        .all() as string[],
    defects: () => [
      ...(database.pragma("integrity_check(5)") as { integrity_check: string }[])
        .map(({ integrity_check }) => integrity_check)
        .filter((line) => line !== "ok"),
      ...(database.pragma("foreign_key_check") as { table: string }[])
        .slice(0, 5)
        .map(({ table }) => `a row of ${table} names one that is not there`),
    ],
    fact: (name) =>
      database.prepare("select value from facts where name = ?").pluck().get(name) as
        | string
        | undefined,
    setFact: (name, value) =>
      void database.prepare("insert or replace into facts values (?, ?)").run(name, value),
    removePins: () =>
      void database
        .prepare("delete from facts where name > ? and name < ?")
        .run(backupsFrom, backupsTo),
    close: () => database.close(),
  };
}

/** A backup of 0.1.0 lacks some tables. */
const hasTable = (database: Database.Database, name: string): boolean =>
  database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(name) !==
  undefined;

/** That of 0.1.0 has no `compatible_since`. */
function schemaOf(database: Database.Database): StoredSchema {
  return database.prepare("select * from schema_version").get() as StoredSchema;
}
