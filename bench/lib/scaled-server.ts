/** A server with runners that have jobs to claim, and runners that have none, on either store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { v7 as uuid } from "uuid";
import { addWorkers, fill } from "./fill.ts";
import { addIdleWorkers, onPostgres, startFilledPostgres } from "./postgres.ts";
import { startPrototype, startWindlass, type BenchServer } from "./processes.ts";

export interface ScaledServer {
  readonly server: BenchServer;
  /** Workers that may claim every job. */
  readonly busy: readonly string[];
  /** Workers for which there is no job. */
  readonly idle: readonly string[];
  /** CPU microseconds of a database that is no part of the server. */
  databaseMicroseconds(): number;
  close(): Promise<void>;
}

/** How many workers of each kind, and jobs, there are. */
export interface Scale {
  readonly busy: number;
  readonly idle: number;
  readonly queued: number;
}

export async function startOnSqlite({ busy, idle, queued }: Scale): Promise<ScaledServer> {
  const workers: Record<"busy" | "idle", string[]> = { busy: [], idle: [] };
  const server = await startWindlass(async (directory) => {
    const filled = await fill(directory, queued);
    workers.idle = await addWorkers(directory, filled.idleOwner, idle);
    workers.busy = await addWorkers(directory, filled.busyOwner, busy);
  });
  return { server, ...workers, databaseMicroseconds: () => 0, close: () => server.stop() };
}

const ids = (count: number) => Array.from({ length: count }, () => uuid());

/** The prototype in place of a server, which shows what the same runners cost at least. */
export async function startOnPrototype({ busy, idle, queued }: Scale): Promise<ScaledServer> {
  const workers = { idle: ids(idle), busy: ids(busy) };
  const server = await startPrototype(queued, workers);
  return { server, ...workers, databaseMicroseconds: () => 0, close: () => server.stop() };
}

export async function startOnPostgres({ busy, idle, queued }: Scale): Promise<ScaledServer> {
  const filled = await startFilledPostgres({ finished: 0, queued, workers: busy });
  const artifacts = mkdtempSync(join(tmpdir(), "bench-artifacts-"));
  const server = await startWindlass(
    async () => undefined,
    onPostgres(filled.url, pathToFileURL(artifacts).href),
  );
  return {
    server,
    busy: filled.workers,
    idle: await addIdleWorkers(filled.url, idle),
    databaseMicroseconds: () => filled.cpuMicroseconds(),
    close: async () => {
      await server.stop();
      await filled.close();
      rmSync(artifacts, { recursive: true });
    },
  };
}
