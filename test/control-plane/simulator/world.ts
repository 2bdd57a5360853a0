/**
 * A control plane's services over an in-memory SQLite, with a clock that the test moves: the code that serves requests, without the HTTP.
 * One commit a call, because what is tried here is the order of calls.
 */
import { checkJobToken } from "../../../control-plane/services/states/job-tokens.ts";
import { checkWorkerToken } from "../../../control-plane/services/workers/credentials.ts";
import type { JobCaller, Origin, WorkerCaller } from "../../../control-plane/services/callers.ts";
import { secretBox } from "../../../control-plane/domain/secret-box.ts";
import { hashToken } from "../../../control-plane/domain/tokens.ts";
import { Claims } from "../../../control-plane/services/claims/claims.ts";
import { readConfig } from "../../../control-plane/config.ts";
import type { Context } from "../../../control-plane/services/context.ts";
import type { Queries, Store } from "../../../control-plane/store/db.ts";
import { migrate } from "../../../control-plane/store/migrate.ts";
import { Connection } from "../../../control-plane/store/engines/sqlite-connection.ts";
import { memoryWakeups } from "../../../control-plane/wakeups/memory.ts";
import { watchOnce } from "../../../control-plane/services/workers/watch.ts";

export interface World {
  readonly context: Context;
  readonly connection: Connection;
  /** Moves the clock; no two events happen at the same time. */
  pass(milliseconds: number): void;
  /** One round of the worker watch. */
  watch(): Promise<void>;
  /** The server is killed and starts again: what it had in memory is gone. */
  restart(): Promise<void>;
  claims(): Claims;
  workerCaller(id: string): Promise<WorkerCaller>;
  jobCaller(job: string, token: string, spec: string): Promise<JobCaller>;
  /** Forgets everything. */
  clear(): void;
  close(): Promise<void>;
}

/** The token of every worker here. */
const workerToken = "wlw_simulated";
export const workerTokenHash = hashToken(workerToken);

const origin: Origin = { ip: "127.0.0.1", id: "simulated", headers: {} };

/** Opens an empty one. */
export async function openWorld(): Promise<World> {
  const connection = new Connection(":memory:", {});
  await migrate(connection.sql, {
    begin: () => connection.execute("begin"),
    commit: () => connection.execute("commit"),
    rollback: () => connection.execute("rollback"),
  });
  let now = 1_000_000_000;
  let readyAt = now;
  const boxes = new Map<string, ReturnType<typeof secretBox>>();
  const context = {
    store: oneByOne(connection),
    wakeups: memoryWakeups(),
    box: (purpose: string) => {
      const box = boxes.get(purpose) ?? secretBox(["k".repeat(64)], purpose);
      boxes.set(purpose, box);
      return box;
    },
    periods: { heartbeat: 30_000, offline: 60_000, lost: 30_000 },
    quotas: readConfig({}).quotas,
    now: () => now,
    draining: new AbortController().signal,
  } as unknown as Context;
  let claims = new Claims(context);
  return {
    context,
    connection,
    pass: (milliseconds) => {
      now += milliseconds;
    },
    watch: () => watchOnce(context, readyAt),
    restart: async () => {
      await claims.close();
      claims = new Claims(context);
      readyAt = now;
    },
    claims: () => claims,
    workerCaller: (id) => checkWorkerToken(context, id, workerToken, origin),
    jobCaller: (job, token, spec) => checkJobToken(context, { job, token }, spec, false),
    clear: () => {
      for (const table of tables) connection.execute(`delete from ${table}`);
    },
    close: async () => {
      await claims.close();
      connection.database.close();
    },
  };
}

/** Rows before what they refer to. */
const tables = [
  "log_chunks",
  "state_locks",
  "job_snapshots",
  "jobs",
  "workers",
  "components",
  "specs",
  "zones",
  "users",
];

/** Every change is a transaction of its own on the one connection that an in-memory database has. */
function oneByOne(connection: Connection): Store {
  let last: Promise<unknown> = Promise.resolve();
  const write = async <T>(change: (tx: Queries) => Promise<T>): Promise<T> => {
    connection.execute("begin");
    try {
      const value = await change(connection);
      connection.execute("commit");
      return value;
    } catch (error) {
      connection.execute("rollback");
      throw error;
    }
  };
  return {
    read: connection,
    write: (change) => {
      const next = last.then(() => write(change));
      last = next.catch(() => undefined);
      return next;
    },
    shrink: async () => false,
    walBytes: () => 0,
    boundWal: () => undefined,
    close: async () => {
      await last;
    },
  };
}
