/**
 * Two control planes on one PostgreSQL: what happens at one is seen, and wakes what waits, at the
 * other.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { readConfig } from "../../control-plane/config.ts";
import { openContext } from "../../control-plane/context.ts";
import { signInWithAccount } from "../../control-plane/services/people/accounts.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { callsOf, type Calls } from "../helpers/plane/calls.ts";
import {
  addTestWorker,
  ask,
  clientHeaders,
  readJob,
  startPlane,
  type Plane,
  type TestWorker,
} from "../helpers/plane/plane.ts";
import { lackOfPostgres, startPostgres, type PostgresServer } from "../helpers/store/postgres.ts";
import { addOwner, addSpec, type Owner } from "../helpers/plane/rows.ts";
import { sendJson, serve } from "../helpers/people/providers.ts";
import { approve, bearer, openPerson, origin, signIn } from "../helpers/people/sign-in.ts";
import { skipAt } from "../helpers/project/tools.ts";
import { bin } from "../helpers/cli/windlass.ts";

const lack = lackOfPostgres();
let database: PostgresServer;
let folder: string;
let settings: Record<string, string>;
let first: Plane;
let second: Plane;
/** A sign-in provider, whose refresh tokens work once. */
let provider: Awaited<ReturnType<typeof serve>>;
let refreshes = 0;
beforeAll(async () => {
  if (lack !== undefined) return;
  database = await startPostgres();
  folder = await mkdtemp(join(tmpdir(), "artifacts-"));
  provider = await serve(() => (request, response) => {
    if (!request.url?.endsWith("/access_token")) return sendJson(response, { values: [] });
    refreshes += 1;
    const tokens = { access_token: "new", token_type: "bearer", expires_in: 7200 };
    // Long enough for the other control plane to ask too.
    setTimeout(() => sendJson(response, tokens), 500);
  });
  settings = {
    BITBUCKET_CLIENT_ID: "client",
    BITBUCKET_CLIENT_SECRET: "secret",
    BITBUCKET_BASE_URL: provider.url,
    WINDLASS_DATABASE_URL: await database.create(),
    WINDLASS_DATABASE_CONNECTIONS: "6",
    WINDLASS_ARTIFACTS_URL: `file:${folder}`,
    CLI_JWT_SECRET: "j".repeat(40),
    WINDLASS_SECRET_KEY: "k".repeat(40),
  };
  // At the same moment: one of them creates the tables.
  [first, second] = await Promise.all([startPlane(settings), startPlane(settings)]);
});
afterAll(async () => {
  if (lack !== undefined) return;
  await Promise.all([first?.close(), second?.close()]);
  await provider.close();
  await database.close();
  await rm(folder, { recursive: true });
});
skipAt(lack);

describe("two control planes", () => {
  let owner: Owner;
  let worker: TestWorker;
  let headers: Record<string, string>;
  let client: Calls;
  let clientOfSecond: Calls;
  let runner: Calls;
  let runnerOfSecond: Calls;
  beforeEach(async () => {
    owner = await addOwner(first.context.store);
    worker = await addTestWorker(first, owner);
    headers = await clientHeaders(first, owner);
    [client, clientOfSecond] = [callsOf(first, headers), callsOf(second, headers)];
    [runner, runnerOfSecond] = [callsOf(first, worker.headers), callsOf(second, worker.headers)];
  });
  const queue = async () =>
    client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: await addSpec(first.context.store, owner) },
    });
  const claim = (calls: Calls, wait = 0, key?: string) =>
    calls.ask("claimJob", { query: { wait } }, { headers: key ? { "idempotency-key": key } : {} });

  it("give each of 60 jobs to one of 120 claims at both of them", async () => {
    const jobs = await Promise.all(Array.from({ length: 60 }, () => queue()));
    const claims = await Promise.all(
      Array.from({ length: 120 }, (_, n) => claim(n % 2 ? runner : runnerOfSecond, 1)),
    );
    const given = claims.flatMap((answer) => answer?.job.id ?? []);
    expect(given.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
  });

  it("give a repeated claim the same job", async () => {
    await Promise.all([queue(), queue(), queue()]);
    const [one, other] = await Promise.all([
      claim(runner, 5, "key"),
      claim(runnerOfSecond, 5, "key"),
    ]);
    expect(one?.job.id).toBe(other?.job.id);
  });

  it("wake a claim that waits at the other one", async () => {
    const waiting = claim(runnerOfSecond, 30);
    const job = await queue();
    expect((await waiting)?.job.id).toBe(job.id);
  });

  it("tell a runner of a cancel at the other one, in the heartbeat that waits", async () => {
    const job = await queue();
    const claimed = await claim(runner);
    expect(claimed?.job.id).toBe(job.id);
    await runner.ask(
      "reportStatus",
      { params: { id: job.id }, body: { status: "PROCESSING" } },
      { headers: { "x-job-attempt": String(claimed?.job.attempt) } },
    );
    const beat = runnerOfSecond.call("heartbeat", {
      query: { wait: 30 },
      body: { version: "1.0.0", active_job_ids: [job.id] },
    });
    await client.ask("cancelJob", { params: { id: job.id } });
    expect((await beat).cancelled_job_ids).toEqual([job.id]);
  });

  it("refuse a worker's token that was replaced at the other one, and accept the new one", async () => {
    const beat = (calls: Calls) => calls.refusal("heartbeat", { body: { version: "1.0.0" } });
    const withToken = (token: string) =>
      callsOf(second, { ...worker.headers, "x-worker-token": token });
    expect(await beat(runnerOfSecond)).toBe("not refused");
    const { worker_token } = await client.call("rotateWorkerToken", {
      params: worker,
      body: { overlap_seconds: 0 },
    });
    expect(await beat(withToken(worker_token))).toBe("not refused");
    const refused = "401 invalid_worker_token";
    await vi.waitFor(async () => expect(await beat(runnerOfSecond)).toBe(refused));
  });

  it("stream the lines that the other one receives, in order and each once", async () => {
    const job = await queue();
    const claimed = await claim(runner);
    const attempt = { "x-job-attempt": String(claimed?.job.attempt) };
    const post = (calls: Calls, seq: number) =>
      calls.call(
        "appendLogs",
        {
          params: { id: job.id },
          body: { seq, stream_type: "STDOUT", log_chunk: `line ${seq}\n` },
        },
        { headers: attempt },
      );
    await post(runner, 1);
    const headers = await clientHeaders(second, owner);
    const stream = await fetch(`${second.url}/api/jobs/${job.id}/logs/stream`, { headers });
    let text = "";
    const reading = (async () => {
      for await (const chunk of stream.body!) text += Buffer.from(chunk).toString();
    })();
    for (let seq = 2; seq <= 20; seq += 1) await post(seq % 2 ? runner : runnerOfSecond, seq);
    await expect.poll(() => text).toContain("line 20");
    await runner.ask(
      "reportStatus",
      { params: { id: job.id }, body: { status: "SUCCESS", last_seq: 20 } },
      { headers: attempt },
    );
    await reading;
    const lines = [...text.matchAll(/line (\d+)/g)].map(([, number]) => Number(number));
    expect(lines).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    expect((await readJob(second, job as never)).status).toBe("SUCCESS");
  });

  it("accept at both what one of them signed, and refuse it at both once it is revoked", async () => {
    expect((await clientOfSecond.call("listZones")).zones).toHaveLength(1);
    const job = await queue();
    const stream = await fetch(`${second.url}/api/jobs/${job.id}/logs/stream`, { headers });
    const { logins } = await client.call("listLogins");
    await client.call("revokeLogin", { params: { id: logins[0]!.id } });
    expect(await clientOfSecond.refusal("listZones")).toMatch(/^401/);
    // Its open stream ends too, whether the end is regular or the connection is cut.
    await stream.text().catch(() => undefined);
  });
});

describe("what two control planes count together", () => {
  it("is five guesses of a code, however many arrive at both, after which the right one is refused", async () => {
    const { device_code, verification_code } = await approve(first, await openPerson(first));
    const wrong = verification_code === "AAAAAA" ? "BBBBBB" : "AAAAAA";
    const exchange = async (plane: Plane, guess: string) => {
      const json = { device_code, verification_code: guess };
      return (await ask(plane, "POST", "/api/auth/cli/exchange", { json })).json().code as string;
    };
    // Six at each, which is less than the limit of refused exchanges that each counts for itself.
    const codes = await Promise.all(
      Array.from({ length: 12 }, (_, n) => exchange(n % 2 ? first : second, wrong)),
    );
    expect(codes.filter((code) => code === "invalid_verification_code")).toHaveLength(5);
    expect(codes.filter((code) => code === "expired_token")).toHaveLength(7);
    for (const plane of [first, second])
      expect(await exchange(plane, verification_code)).toBe("expired_token");
  });

  it("is the one use of a refresh token: reused later at the other one, it ends the login at both", async () => {
    const { access_token, refresh_token } = await signIn(first);
    const refresh = (plane: Plane) =>
      ask(plane, "POST", "/api/auth/cli/refresh", { json: { refresh_token } });
    const both = await Promise.all([refresh(first), refresh(second)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
    // No longer two commands that refreshed at once.
    await first.context.store.write((tx) =>
      tx.sql.updateTable("logins").set({ rotated_at: 1 }).execute(),
    );
    expect((await refresh(second)).status).toBe(401);
    for (const plane of [first, second])
      expect(await callsOf(plane, bearer(access_token)).refusal("listZones")).toMatch(/^401/);
  });

  it("is the refresh of a provider's token, which all of them wait for", async () => {
    const tokens = {
      access_token: "old",
      refresh_token: "once",
      expires_in: 0,
      subject: undefined,
    };
    const email = "ada@example.com";
    const account = { provider: "bitbucket", subject: "1", email, verified: [email] } as const;
    const user = await signInWithAccount(first.context, { ...account, tokens }, undefined, origin);
    if (user === "someone_else") throw new Error("the account is taken");
    const headers = await clientHeaders(first, { id: user.user_id } as never);
    const list = (plane: Plane) =>
      callsOf(plane, headers).call("listRepositories", {
        params: { git_provider: "bitbucket" },
        query: {},
      });
    await Promise.all([first, second, first, second].map(list));
    expect(refreshes).toBe(1);
  });

  it("is the end of an access token", async () => {
    const user = callsOf(first, bearer((await signIn(first)).access_token));
    const { access_token, id } = await user.call("createAccessToken", {
      body: { name: "pipeline", role: "viewer" },
    });
    const pipeline = callsOf(second, bearer(access_token));
    await pipeline.call("listZones");
    await user.call("revokeAccessToken", { params: { id } });
    expect(await pipeline.refusal("listZones")).toMatch(/^401/);
  });
});

/** Opens a control plane, which does not listen, and closes it. */
async function open(change: Record<string, string>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "data-"));
  try {
    const config = readConfig({ ...settings, WINDLASS_DATA_DIR: directory, ...change });
    await (await openContext(config)).close();
  } finally {
    await rm(directory, { recursive: true });
  }
}

describe("a further control plane", () => {
  it.each([
    [
      "without secrets",
      { CLI_JWT_SECRET: "", WINDLASS_SECRET_KEY: "" },
      /CLI_JWT_SECRET and WINDLASS_SECRET_KEY/,
    ],
    ["that signs with another secret", { CLI_JWT_SECRET: "x".repeat(40) }, /CLI_JWT_SECRET is not/],
    ["with another key", { WINDLASS_SECRET_KEY: "x".repeat(40) }, /WINDLASS_SECRET_KEY/],
    [
      "with another directory of artifacts",
      { WINDLASS_ARTIFACTS_URL: "" },
      /WINDLASS_ARTIFACTS_URL/,
    ],
  ])("%s does not start", async (_, change, message) => {
    await expect(open(change)).rejects.toThrow(message);
  });

  it("with the same settings starts", async () => {
    await open({});
  });
});

describe("rotate-key", () => {
  it("keeps control planes from starting until it has ended, on PostgreSQL too", async () => {
    using place = scratch();
    const url = await database.createMigrated();
    const own = { ...settings, WINDLASS_DATABASE_URL: url };
    const rotating = {
      WINDLASS_SECRET_KEY: "n".repeat(40),
      WINDLASS_SECRET_KEY_OLD: "k".repeat(40),
    };
    await open(own);
    // The command waits for a table that it seals again.
    const held = new pg.Client({ connectionString: url });
    await held.connect();
    await held.query("begin; lock table specs in access exclusive mode");
    const env = { ...own, ...rotating, WINDLASS_DATA_DIR: join(place.path, "rotating") };
    const rotate = () => execa(bin, ["server", "rotate-key"], { reject: false, env });
    const interrupted = rotate();
    await expect.poll(async () => (await held.query(waiting)).rows[0].count).toBeGreaterThan(0);
    // However long the next step takes, it has not ended before.
    interrupted.kill("SIGSTOP");
    await expect(open({ ...own, ...rotating })).rejects.toThrow(
      /rotate-key .* works on the database/,
    );
    await held.end();
    interrupted.kill("SIGCONT");
    await interrupted;
    const { exitCode, stderr } = await rotate();
    expect([exitCode, stderr]).toEqual([0, ""]);
    await open({ ...own, ...rotating, WINDLASS_SECRET_KEY_OLD: "" });
    // And the other way round.
    const server = await startPlane({ ...own, ...rotating });
    const refused = await rotate();
    expect([refused.exitCode, refused.stderr]).toEqual([
      78,
      expect.stringContaining("a control plane runs on this database"),
    ]);
    await server.close();
  });
});

/** Counts those who wait for a table. */
const waiting =
  "select count(*)::int as count from pg_locks where locktype = 'relation' and not granted";
