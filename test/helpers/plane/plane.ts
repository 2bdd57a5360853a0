/**
 * A control plane in this process, with rows written straight to its store, for tests of single
 * routes.
 */
import { existsSync, statfsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { gibibyte } from "../../../common/units.ts";
import { basename, join } from "node:path";
import { sql } from "kysely";
import { pino } from "pino";
import { request, type Dispatcher } from "undici";
import { jobToken } from "../../../control-plane/services/states/job-tokens.ts";
import { readConfig } from "../../../control-plane/config.ts";
import { directoryIdName } from "../../../control-plane/data-directory/shared-directory.ts";
import { lockName } from "../../../control-plane/data-directory/lock.ts";
import type { OpenContext } from "../../../control-plane/context.ts";
import type { JobRow } from "../../../control-plane/domain/job.ts";
import { hashToken, newToken } from "../../../control-plane/domain/tokens.ts";
import type { WorkerRow } from "../../../control-plane/domain/worker.ts";
import type { Row, StoredJson, Tables } from "../../../control-plane/store/tables.ts";
import { startCliLogin, tokenPair } from "../../../control-plane/services/people/logins.ts";
import { startServer } from "../../../control-plane/server.ts";
import { undeclaredResponses } from "./declared-responses.ts";
import { newTestDatabase } from "../store/test-database.ts";
import { addJob, addWorker, type Owner } from "./rows.ts";

export interface Plane {
  readonly url: string;
  readonly directory: string;
  readonly context: OpenContext;
  /** The address of its database with the role that owns the tables; undefined on SQLite. */
  readonly ownerUrl: string | undefined;
  /** Returns the number of blobs, finished or not. */
  blobs(): Promise<number>;
  /** Returns the files of the data directory, and tables, that contain a text in clear. */
  holds(text: string): Promise<string[]>;
  /**
   * Stops and removes the control plane. Throws if it logged an error, or sent a response that its
   * endpoint does not declare.
   */
  close(): Promise<void>;
}

/**
 * Returns the parent of the data directories: in memory where there is room. A control plane in the
 * tests' own process is never killed, so nothing is proved by its disk flushes, a tenth of the time
 * of the unit tests.
 */
function folderOfPlanes(): string {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 * gibibyte ? memory : tmpdir();
}

/** Starts a control plane on a free port, in its own directory, with these settings. */
export async function startPlane(settings: Record<string, string> = {}): Promise<Plane> {
  const directory = await mkdtemp(join(folderOfPlanes(), "plane-"));
  const database = await newTestDatabase();
  const config = {
    ...readConfig({
      ...database?.settings,
      ...settings,
      WINDLASS_DATA_DIR: directory,
      WINDLASS_PORT: "0",
    }),
    // Tests look at code hosts when they want to, so that nothing changes beside them.
    codeHostSeconds: 86_400,
  };
  const errors: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void errors.push(line) });
  const { url, context, close } = await startServer(config, log);
  return {
    url,
    directory,
    context,
    ownerUrl: database?.url,
    blobs: async () =>
      (await filesOf(config.artifactsDirectory)).filter(
        (file) => ![lockName, `${lockName}-journal`, directoryIdName].includes(basename(file)),
      ).length,
    holds: async (text) => {
      const files = await filesOf(directory);
      const found = await Promise.all(
        files.map(async (file) => (await readFile(file)).includes(text)),
      );
      return [
        ...files.filter((_, index) => found[index]),
        ...((await database?.holds(text)) ?? []),
      ];
    },
    close: async () => {
      await close();
      await database?.remove();
      await rm(directory, { recursive: true });
      if (errors.length > 0) throw new Error(`the server logged errors:\n${errors.join("")}`);
      const undeclared = undeclaredResponses();
      if (undeclared.length > 0)
        throw new Error(
          `declare these as \`refusals\` or \`also\` of their endpoints in protocol/:\n${undeclared.join("\n")}`,
        );
    },
  };
}

async function filesOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

export interface TestWorker extends WorkerRow {
  readonly headers: Record<string, string>;
}

/** Adds a worker with a valid token. */
export async function addTestWorker({ context }: Plane, owner: Owner | null): Promise<TestWorker> {
  const token = newToken("wlw");
  const worker = await addWorker(context.store, owner, {
    token_hash: hashToken(token),
    last_heartbeat_at: Date.now(),
    created_at: Date.now(),
  });
  return { ...worker, headers: { "x-worker-id": worker.id, "x-worker-token": token } };
}

/** Returns the headers of a user's client. */
export async function clientHeaders(
  { context }: Plane,
  { id }: Owner,
): Promise<{ readonly authorization: string }> {
  const login = await context.store.write((tx) => startCliLogin(tx, id, context.now()));
  const { access_token } = await tokenPair(context, login, `${id}@example.com`);
  return { authorization: `Bearer ${access_token}` };
}

/** Adds a job that the worker has claimed and not started. */
export const addHeldJob = (
  { context }: Plane,
  owner: Owner,
  worker: WorkerRow,
  change: Partial<JobRow> = {},
): Promise<JobRow> =>
  addJob(context.store, owner, {
    status: "PROCESSING",
    worker_id: worker.id,
    attempt: 1,
    claimed_at: Date.now(),
    ...change,
  });

/** Returns the user and password with which the job's terraform accesses its state. */
export const jobCredential = ({ context }: Plane, { id, attempt }: JobRow) => ({
  username: id,
  password: jobToken(context, id, attempt),
});

/** Returns the headers with which the job's terraform accesses its state. */
export function stateHeaders(plane: Plane, job: JobRow): { readonly authorization: string } {
  const { username, password } = jobCredential(plane, job);
  return {
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
  };
}

/** A row with its stored JSON as text. */
type TextRow<T extends keyof Tables> = {
  [K in keyof Row<T>]: Row<T>[K] extends StoredJson ? string : Row<T>[K];
};

/** Reads the rows of a table with these values of columns, in the order of insertion. */
export async function readRows<T extends keyof Tables>(
  { context }: Pick<Plane, "context">,
  table: T,
  where: Partial<TextRow<T>> = {},
): Promise<TextRow<T>[]> {
  let query = context.store.read.sql.selectFrom(table as "jobs").selectAll();
  for (const [column, value] of Object.entries(where))
    query = query.where(column as "id", "=", value as string);
  // PostgreSQL uses the place of a removed row again.
  const isNumbered = ["log_chunks", "state_versions", "events"].includes(table);
  const place = !context.store.isShared ? sql`rowid` : isNumbered ? sql`id` : sql`ctid`;
  return (await query.orderBy(place).execute()) as unknown as TextRow<T>[];
}

/** Reads the only row of a table with these values of columns. */
export async function readRow<T extends keyof Tables>(
  plane: Pick<Plane, "context">,
  table: T,
  where: Partial<TextRow<T>> = {},
): Promise<TextRow<T>> {
  const [row, ...more] = await readRows(plane, table, where);
  if (row === undefined || more.length > 0)
    throw new Error(
      `${table} has ${more.length + (row ? 1 : 0)} rows with ${JSON.stringify(where)}`,
    );
  return row;
}

/** Changes the rows of a table with these values of columns, without checking any rule. */
export async function setRows<T extends keyof Tables>(
  { context }: Pick<Plane, "context">,
  table: T,
  change: Partial<TextRow<T>>,
  where: Partial<TextRow<T>> = {},
): Promise<void> {
  await context.store.write((tx) => {
    let query = tx.sql.updateTable(table as "jobs").set(change as Partial<JobRow>);
    for (const [column, value] of Object.entries(where))
      query = query.where(column as "id", "=", value as string);
    return query.execute();
  });
}

/** Reads a job as it is stored. */
export const readJob = (plane: Plane, { id }: JobRow): Promise<JobRow> =>
  readRow(plane, "jobs", { id });

/** Changes a stored job without checking any rule. */
export const setJob = (plane: Plane, { id }: JobRow, change: Partial<JobRow>): Promise<void> =>
  setRows(plane, "jobs", change, { id });

export interface TestResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly body: Buffer;
  /** The body as text. */
  readonly text: string;
  /** The body as JSON. */
  json(): { code?: string } & Record<string, unknown>;
}

/** Sends one request and returns the response, whatever its status is. */
export async function ask(
  { url }: Pick<Plane, "url">,
  method: string,
  path: string,
  options: {
    headers?: Record<string, string>;
    body?: string | Buffer | AsyncIterable<Uint8Array>;
    /** Sent as a JSON body with its content type. */
    json?: unknown;
  } = {},
): Promise<TestResponse> {
  const { headers = {}, json } = options;
  const isJson = json !== undefined;
  const answer = await request(url + path, {
    method,
    headers: isJson ? { "content-type": "application/json", ...headers } : headers,
    body: (isJson ? JSON.stringify(json) : (options.body ?? null)) as never,
  });
  const body = Buffer.from(await answer.body.arrayBuffer());
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body,
    get text() {
      return body.toString();
    },
    json: () => JSON.parse(body.toString()) as never,
  };
}
