/** A PostgreSQL server for the tests of a file, or of a `describe`. */
import { afterAll, beforeAll } from "vitest";
import { lackOfPostgres, startPostgres, type PostgresServer } from "./postgres.ts";
import { skipAt } from "../project/tools.ts";

/** Starts it before the tests and stops it after them. Where it is missing, they do not run. */
export function postgresForFile() {
  const lack = lackOfPostgres();
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    if (lack === undefined) server = await startPostgres();
  });
  afterAll(() => server?.close());
  skipAt(lack);
  return {
    /** Why there is none. */
    lack,
    /** Throws before it has started. */
    get server(): PostgresServer {
      if (!server) throw new Error("PostgreSQL has not started");
      return server;
    },
  };
}
