/** Users of a control plane, written to its store, and the API as their clients call it. */
import { setTimeout as sleep } from "node:timers/promises";
import { readConfig } from "../../../control-plane/config.ts";
import { openSqlite } from "../../../control-plane/store/engines/sqlite.ts";
import type { CreateJob, Job } from "../../../protocol/jobs.ts";
import { send } from "../../../protocol/transport.ts";
import { testEngine } from "../agent/engines.ts";
import { callsOf, type Calls } from "../plane/calls.ts";
import { addTestWorker, clientHeaders, type Plane, type TestWorker } from "../plane/plane.ts";
import { addOwner, type Owner } from "../plane/rows.ts";

export interface User {
  readonly plane: Plane;
  readonly id: string;
  readonly email: string;
  /** The user, with a zone. */
  readonly owner: Owner;
  /** The credential of the user's client. */
  readonly headers: Record<string, string>;
  /** The settings of the user's client. */
  readonly environment: { readonly WINDLASS_URL: string; readonly WINDLASS_TOKEN: string };
  /** The API as the user's client calls it. */
  readonly client: Calls;
  /** Creates a configuration in the user's zone, with one empty file unless `fields` have a source. */
  configure(fields: Record<string, unknown>): Promise<string>;
  queue(job: CreateJob): Promise<Job>;
  read(job: Job): Promise<Job>;
  /** Waits until the job has one of these statuses. */
  reaches(job: Job, ...statuses: Job["status"][]): Promise<Job>;
  /** Waits until the job is released. */
  released(job: Job): Promise<Job>;
  log(job: Job, stream?: string): Promise<string>;
  upload(archive: Buffer): Promise<string>;
  /** Creates a token with which an agent registers itself. */
  registrationToken(): Promise<string>;
}

/** Adds a user at a server that is another process, over its data directory with SQLite. */
export async function addUserAt(url: string, directory: string, secret: string): Promise<User> {
  const store = await openSqlite(readConfig({ WINDLASS_DATA_DIR: directory }).databaseFile);
  try {
    const context = { store, jwtSecret: Buffer.from(secret), now: Date.now };
    return await addUser({ url, context } as unknown as Plane);
  } finally {
    await store.close();
  }
}

/** Adds a user with a zone. */
export async function addUser(plane: Plane): Promise<User> {
  const owner = await addOwner(plane.context.store);
  return userOf(plane, owner, await clientHeaders(plane, owner));
}

/** The API as the client of a user with a zone calls it, with this credential. */
export function userOf(
  plane: Plane,
  owner: Owner,
  headers: { readonly authorization: string },
): User {
  const client = callsOf(plane, headers);
  const WINDLASS_TOKEN = headers.authorization.replace("Bearer ", "");
  let count = 0;
  const user: User = {
    plane,
    id: owner.id,
    email: `${owner.id}@example.com`,
    owner,
    headers,
    environment: { WINDLASS_URL: plane.url, WINDLASS_TOKEN },
    client,
    configure: async (fields) => {
      const body = {
        name: `configuration ${++count}`,
        zone_id: owner.zone,
        engine: testEngine,
        source: { type: "inline", files: { "main.tf": "" } },
        ...fields,
      };
      return (await client.call("createConfiguration", { body: body as never })).id;
    },
    queue: (body) => client.call("createJob", { body }),
    read: ({ id }) => client.call("getJob", { params: { id } }),
    reaches: (job, ...statuses) => waitFor(job, (now) => statuses.includes(now.status)),
    released: (job) => waitFor(job, (now) => now.released_at !== null),
    log: async ({ id }, stream = "STDOUT") => {
      const { logs } = await client.call("getJobLogs", { params: { id } });
      const wanted = logs.filter(({ stream_type }) => stream_type === stream);
      return wanted.map(({ log_chunk }) => log_chunk).join("");
    },
    upload: async (bytes) => {
      const answer = await send(plane.url, "uploadArchive", { bytes }, { headers });
      return ((await answer.body.json()) as { sha256: string }).sha256;
    },
    registrationToken: async () => {
      const made = await client.call("createRegistrationToken", { body: {} });
      return made.registration_token;
    },
  };
  async function waitFor(job: Job, is: (now: Job) => boolean): Promise<Job> {
    for (;;) {
      const now = await user.read(job);
      if (is(now)) return now;
      await sleep(30);
    }
  }
  return user;
}

/** A user with a worker. */
export interface TestUser extends User {
  /** A self-hosted worker of the user. */
  readonly worker: TestWorker;
  /** The API as the worker's runner calls it. */
  readonly runner: Calls;
}

/** Adds a user with a worker. */
export async function addTestUser(plane: Plane): Promise<TestUser> {
  const user = await addUser(plane);
  const worker = await addTestWorker(plane, user.owner);
  return { ...user, worker, runner: callsOf(plane, worker.headers) };
}

/** Adds another worker of a user and returns the API as its runner calls it. */
export const addRunner = async (plane: Plane, owner: Owner): Promise<Calls> =>
  callsOf(plane, (await addTestWorker(plane, owner)).headers);
