/**
 * With WINDLASS_TEST_STORE=postgres the control planes of the unit tests run on PostgreSQL: each
 * on a database of its own, in a server that the run starts.
 */
import { randomBytes } from "node:crypto";
import { asServer, command } from "./postgres.ts";

/** The run's server, and a database in it that has Windlass's tables. */
export interface TestPostgres {
  /** Its address, with `template1` as the name of the database. */
  readonly url: string;
  readonly template: string;
}

declare module "vitest" {
  interface ProvidedContext {
    postgres: TestPostgres | undefined;
  }
}

export interface TestDatabase {
  /** Its address with the role that owns the tables. */
  readonly url: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Returns the tables that contain a text in clear. */
  holds(text: string): Promise<string[]>;
  remove(): Promise<void>;
}

/** The settings of a control plane that uses a database as in production: it owns no table. */
export const settingsOf = (url: string): Record<string, string> => ({
  WINDLASS_DATABASE_URL: asServer(url),
  WINDLASS_DATABASE_CONNECTIONS: "6",
  CLI_JWT_SECRET: "j".repeat(40),
  WINDLASS_SECRET_KEY: "k".repeat(40),
});

/** Creates a database for one control plane; undefined if the tests run on SQLite. */
export async function newTestDatabase(): Promise<TestDatabase | undefined> {
  if (process.env["WINDLASS_TEST_STORE"] !== "postgres") return undefined;
  // Loaded here, because scripts start control planes too.
  const server = (await import("vitest")).inject("postgres");
  if (server === undefined) throw new Error("the run has started no PostgreSQL");
  const name = `plane_${randomBytes(8).toString("hex")}`;
  const url = server.url.replace("/template1?", `/${name}?`);
  await command(server.url, `create database ${name} template ${server.template}`);
  return {
    url,
    settings: settingsOf(url),
    holds: async (text) => {
      const tables = await command(
        url,
        "select table_name as name from information_schema.tables where table_schema = 'public'",
      );
      const found: string[] = [];
      for (const { name: table } of tables.rows as { name: string }[]) {
        const { rows } = await command(url, `select t::text as row from ${table} t`);
        if (JSON.stringify(rows).includes(text)) found.push(table);
      }
      return found;
    },
    remove: async () => {
      await command(server.url, `drop database ${name} with (force)`);
    },
  };
}
