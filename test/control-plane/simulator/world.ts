/**
 * The services of a control plane over an in-memory SQLite, with a clock that the test moves,
 * without HTTP. Each call is one commit, because the order of calls is tested.
 */
import { checkJobToken } from "../../../control-plane/services/states/job-tokens.ts";
import { workerTokens } from "../../../control-plane/services/workers/credentials.ts";
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
  /** Advances the clock, so that no two events have the same time. */
  pass(milliseconds: number): void;
  /** Runs one round of the worker watch. */
  watch(): Promise<void>;
  /** Kills and starts the server: its memory is lost. */
  restart(): Promise<void>;
  claims(): Claims;
  workerCaller(id: string): Promise<WorkerCaller>;
  jobCaller(job: string, token: string, spec: string): Promise<JobCaller>;
  /** Deletes all rows. */
  clear(): void;
  close(): Promise<void>;
}

/** The token of every simulated worker. */
const workerToken = "wlw_simulated";
export const workerTokenHash = hashToken(workerToken);

const origin: Origin = { ip: "127.0.0.1", id: "simulated", headers: {} };

/** Opens an empty world. */
export async function openWorld(): Promise<World> {
  const connection = new Connection(":memory:", {});
  connection.database.unsafeMode(true);
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
    workerCaller: async (id) => workerTokens(context).check(id, workerToken, origin),
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

/** Tables in an order in which rows are deleted before the rows they refer to. */
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

/** Runs every change as its own transaction on the only connection of an in-memory database. */
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
  const inTurn = <T>(change: (tx: Queries) => Promise<T>): Promise<T> => {
    const next = last.then(() => write(change));
    last = next.catch(() => undefined);
    return next;
  };
  return {
    isShared: false,
    hidesOtherSpaces: false,
    read: connection,
    write: inTurn,
    share: inTurn,
    ahead: inTurn,
    shrink: async () => false,
    walBytes: () => 0,
    boundWal: () => undefined,
    close: async () => {
      await last;
    },
  };
}
