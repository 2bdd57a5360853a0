/**
 * A control plane in this process, with rows written straight to its store, for tests of single
 * routes.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { request, type Dispatcher } from "undici";
import { jobToken } from "../../control-plane/services/states/job-tokens.ts";
import { readConfig } from "../../control-plane/config.ts";
import { lockName } from "../../control-plane/data-directory/lock.ts";
import type { OpenContext } from "../../control-plane/context.ts";
import type { JobRow } from "../../control-plane/domain/job.ts";
import { hashToken, newToken } from "../../control-plane/domain/tokens.ts";
import type { WorkerRow } from "../../control-plane/domain/worker.ts";
import { startCliLogin, tokenPair } from "../../control-plane/services/people/logins.ts";
import { startServer } from "../../control-plane/server.ts";
import { undeclaredResponses } from "./declared-responses.ts";
import { addJob, addWorker, type Owner } from "./rows.ts";

export interface Plane {
  readonly url: string;
  readonly directory: string;
  readonly context: OpenContext;
  /** Returns the number of blobs, finished or not. */
  blobs(): Promise<number>;
  /** Returns the files of the data directory that contain a text in clear. */
  holds(text: string): Promise<string[]>;
  /**
   * Stops and removes the control plane. Throws if it logged an error, or sent a response that its
   * endpoint does not declare.
   */
  close(): Promise<void>;
}

/** Starts a control plane on a free port, in its own directory, with these settings. */
export async function startPlane(settings: Record<string, string> = {}): Promise<Plane> {
  const directory = await mkdtemp(join(tmpdir(), "plane-"));
  const config = readConfig({ ...settings, WINDLASS_DATA_DIR: directory, WINDLASS_PORT: "0" });
  const errors: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void errors.push(line) });
  const { url, context, close } = await startServer(config, log);
  return {
    url,
    directory,
    context,
    blobs: async () =>
      (await filesOf(config.artifactsDirectory)).filter((file) => !file.includes(lockName)).length,
    holds: async (text) => {
      const files = await filesOf(directory);
      const found = await Promise.all(
        files.map(async (file) => (await readFile(file)).includes(text)),
      );
      return files.filter((_, index) => found[index]);
    },
    close: async () => {
      await close();
      await rm(directory, { recursive: true });
      if (errors.length > 0) throw new Error(`the server logged errors:\n${errors.join("")}`);
      const undeclared = undeclaredResponses();
      if (undeclared.length > 0)
        throw new Error(
          `declare these as \`refusals\` or \`also\` of their endpoints in protocol/, then run "npm run openapi":\n${undeclared.join("\n")}`,
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
): Promise<Record<string, string>> {
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

/** Reads a job as it is stored. */
export const readJob = ({ context }: Plane, { id }: JobRow): Promise<JobRow> =>
  context.store.read.sql
    .selectFrom("jobs")
    .selectAll()
    .where("id", "=", id)
    .executeTakeFirstOrThrow();

/** Changes a stored job without checking any rule. */
export async function setJob(
  { context }: Plane,
  { id }: JobRow,
  change: Partial<JobRow>,
): Promise<void> {
  await context.store.write((tx) =>
    tx.sql.updateTable("jobs").set(change).where("id", "=", id).execute(),
  );
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly body: Buffer;
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
  } = {},
): Promise<TestResponse> {
  const answer = await request(url + path, {
    method,
    headers: options.headers ?? {},
    body: (options.body ?? null) as never,
  });
  const body = Buffer.from(await answer.body.arrayBuffer());
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body,
    json: () => JSON.parse(body.toString()) as never,
  };
}
