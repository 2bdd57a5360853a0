/** Starts the PostgreSQL that all files of a run share; only with WINDLASS_TEST_STORE=postgres. */
import type { TestProject } from "vitest/node";
import { startPostgres } from "../store/postgres.ts";

/** Runs before the first file; what it returns runs after the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  const template = await server.migrated();
  project.provide("postgres", { url: server.url("template1"), template });
  return () => server.close();
}
