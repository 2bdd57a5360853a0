/** Control planes as processes of their own that share one PostgreSQL database. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { sql } from "kysely";
import { createLink } from "../../../control-plane/services/people/logins.ts";
import type { Store } from "../../../control-plane/store/db.ts";
import { openPostgresBeside } from "../../../control-plane/store/engines/postgres.ts";
import { openSqlite } from "../../../control-plane/store/engines/sqlite.ts";
import type { Load } from "../load/load.ts";

const sharedSecrets = {
  CLI_JWT_SECRET: "j".repeat(40),
  WINDLASS_SECRET_KEY: "k".repeat(40),
} as const;

/** The settings of control planes with one database and one directory for all below `folder`. */
export const sharedSettings = (databaseUrl: string, folder: string): Record<string, string> => ({
  ...sharedSecrets,
  WINDLASS_DATABASE_URL: databaseUrl,
  WINDLASS_ARTIFACTS_URL: `file:${join(folder, "blobs")}`,
});

/** Returns the path of a new one-time link of the user "ada@example.com". */
export async function newSharedLink(databaseUrl: string): Promise<string> {
  const store = await openPostgresBeside({ url: databaseUrl, connections: 2 });
  try {
    return `/login/link/${await createLink(store, "ada@example.com", Date.now())}`;
  } finally {
    await store.close();
  }
}

/** Copies all tables to a new SQLite file, so that the checks of one apply. */
export async function copyToSqlite(databaseUrl: string, file: string): Promise<void> {
  await (await openSqlite(file)).close();
  const store = await openPostgresBeside({ url: databaseUrl, connections: 2 });
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

/** A newer release may have added columns to the original. */
async function copyTable(store: Store, copy: Database.Database, table: string): Promise<void> {
  const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(
    store.read.sql,
  );
  const columns = copy.pragma(`table_info(${table})`) as { name: string }[];
  const names = columns.map(({ name }) => name);
  const insert = copy.prepare(
    `insert or replace into ${table} (${names.join()}) values (${names.map(() => "?").join()})`,
  );
  for (const row of rows) insert.run(...names.map((name) => row[name]));
}

/** Waits until the clients of a load have received this many more responses, or have failed. */
export async function untilAnswered(load: Load, more: number): Promise<void> {
  const before = load.answered;
  while (load.answered < before + more && load.failures.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Waits until some jobs have ended, with their plans, states and logs. */
export async function untilAllKinds(load: Load): Promise<void> {
  const { ended, logs, states, artifacts } = load.acknowledged;
  const parts = [ended, logs, states, artifacts];
  while (parts.some(({ size }) => size < 3) && load.failures.length === 0)
    await untilAnswered(load, 1);
}
