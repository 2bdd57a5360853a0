import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { endpoints } from "../../../../protocol/endpoints.ts";
import { callsOf, type Calls } from "../../../helpers/calls.ts";
import { hashToken } from "../../../../control-plane/domain/tokens.ts";
import { updateWorker } from "../../../../control-plane/store/workers/workers.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import {
  addTestWorker,
  ask,
  clientHeaders,
  type Plane,
  type TestWorker,
} from "../../../helpers/plane.ts";
import { addOwner, addSpec, type Owner } from "../../../helpers/rows.ts";

const {
  cancelJob,
  claimJob,
  createJob,
  createRegistrationToken,
  getJob,
  getWorker,
  heartbeat,
  readWorker,
  registerWorker,
  reportStatus,
  updateWorkerMetadata,
} = endpoints;
const version = "1.2.3";
/** OFFLINE after 1 s, lost after 0.5 s more: a busy machine may take its time for a call. */
const fast = {
  WINDLASS_HEARTBEAT_SECONDS: "0.5",
  WINDLASS_OFFLINE_SECONDS: "1",
  WINDLASS_LOST_SECONDS: "0.5",
};

const { plane } = planeForFile();
const { plane: hasty } = planeForFile(fast);

async function people(at: Plane) {
  const owner = await addOwner(at.context.store);
  const worker = await addTestWorker(at, owner);
  const client = callsOf(at, await clientHeaders(at, owner));
  const queue = async () =>
    client.get(createJob, {
      body: { job_type: "DEPLOY", configuration_id: await addSpec(at.context.store, owner) },
    });
  return { owner, worker, client, runner: callsOf(at, worker.headers), queue };
}

describe("a worker", () => {
  let owner: Owner;
  let worker: TestWorker;
  let runner: Calls;
  let client: Calls;
  let queue: () => Promise<{ id: string }>;
  beforeEach(async () => {
    ({ owner, worker, runner, client, queue } = await people(plane));
  });
  const register = (
    headers: Record<string, string>,
    body: object = { name: "w", mode: "self-hosted" },
  ) => callsOf(plane, headers).get(registerWorker, { body: body as never });

  it("registers with a registration token, as often as it allows", async () => {
    const { registration_token } = await client.get(createRegistrationToken, { body: { uses: 2 } });
    const headers = { "x-registration-token": registration_token };
    const identities = [await register(headers), await register(headers)];
    expect(new Set(identities.map(({ worker_id }) => worker_id)).size).toBe(2);
    expect(identities[0]!.worker_token).toMatch(/^wlw_[\w-]{43}$/);
    expect(await callsOf(plane, headers).refusal(registerWorker, { body: { name: "w" } })).toBe(
      "401 unauthenticated",
    );
    const { workers } = await client.get(endpoints.listWorkers, { query: {} });
    expect(workers.map(({ status }) => status)).toEqual(["REGISTERED", "REGISTERED", "ONLINE"]);
  });

  it("is registered by a person, who is shown its token once", async () => {
    const made = await client.get(endpoints.createWorker, {
      body: { name: "mine", labels: ["eu"] },
    });
    const own = callsOf(plane, {
      "x-worker-id": made.worker_id,
      "x-worker-token": made.worker_token,
    });
    expect(await own.get(readWorker, { params: { id: made.worker_id } })).toMatchObject({
      name: "mine",
      mode: "self-hosted",
      labels: ["eu"],
      status: "REGISTERED",
    });
    const refused = { name: "mine", mode: "cloud-hosted" } as never;
    expect(await client.refusal(endpoints.createWorker, { body: refused })).toBe(
      "400 invalid_request",
    );
  });

  it("keeps no token in recoverable form", async () => {
    const { worker_token } = await register(await clientHeaders(plane, owner));
    expect(await plane.holds(worker_token)).toEqual([]);
  });

  it.each(["a token", "a person", "a worker"])(
    "keeps nothing of a registration by %s but its name, labels and isolation",
    async (kind) => {
      const { registration_token } = await client.get(createRegistrationToken, { body: {} });
      const headers = {
        "a token": { "x-registration-token": registration_token },
        "a person": await clientHeaders(plane, owner),
        "a worker": worker.headers,
      }[kind];
      const known = { name: "w", mode: "self-hosted", labels: ["eu"], isolation: "uid" };
      const planted = {
        metadata: { deploy_configuration: { configuration_id: "x" }, more: 1 },
        deploy_configuration: { configuration_id: "x" },
        owner_id: null,
        draining_at: 1,
      };
      const made = await register(headers as never, { ...known, ...planted });
      expect(await client.get(getWorker, { params: { id: made.worker_id } })).toMatchObject({
        ...known,
        metadata: {},
      });
      const rows = plane.context.store.read.sql.selectFrom("workers").selectAll();
      expect(await rows.where("id", "=", made.worker_id).executeTakeFirstOrThrow()).toMatchObject({
        metadata: "{}",
        owner_id: owner.id,
        draining_at: null,
      });
    },
  );

  it("re-registers itself with its own headers: same id, new token, the old one dead", async () => {
    const renewed = await register(worker.headers, { name: "renamed" });
    expect(renewed.worker_id).toBe(worker.id);
    expect(await runner.refusal(heartbeat, { body: { version } })).toBe("401 invalid_worker_token");
    const headers = { "x-worker-id": worker.id, "x-worker-token": renewed.worker_token };
    expect(await callsOf(plane, headers).get(readWorker, { params: worker })).toMatchObject({
      name: "renamed",
    });
  });

  it.each([
    ["no credential", {}, { name: "w" }, "401 unauthenticated"],
    ["a wrong token", { "x-registration-token": "wlr_x" }, { name: "w" }, "401 unauthenticated"],
    [
      "wrong worker headers",
      { "x-worker-id": "x", "x-worker-token": "y" },
      { name: "w" },
      "401 invalid_worker_token",
    ],
  ])("does not register with %s", async (_, headers, body, refusal) => {
    expect(await callsOf(plane, headers as never).refusal(registerWorker, { body })).toBe(refusal);
  });

  it.each([
    ["without a name", {}],
    ["with an empty name", { name: "" }],
    ["with a control character in its name", { name: "a\nb" }],
    ["with too long a name", { name: "x".repeat(101) }],
    ["as cloud-hosted", { name: "w", mode: "cloud-hosted" }],
  ])("does not register %s", async (_, body) => {
    const headers = await clientHeaders(plane, owner);
    expect(await callsOf(plane, headers).refusal(registerWorker, { body: body as never })).toBe(
      "400 invalid_request",
    );
  });

  it("says how it is in its heartbeat, and what it says no more stays", async () => {
    const about = {
      hostname: "h",
      os: "linux",
      arch: "x64",
      capacity: 3,
      isolation: "process",
      labels: ["eu"],
    };
    const answer = await runner.get(heartbeat, { body: { version, ...about, active_job_ids: [] } });
    expect(answer).toMatchObject({
      worker_id: worker.id,
      status: "ONLINE",
      heartbeat_interval_seconds: 30,
      cancelled_job_ids: [],
    });
    await runner.get(heartbeat, { body: { version: "1.2.4" } });
    expect(await client.get(getWorker, { params: worker })).toMatchObject({
      ...about,
      version: "1.2.4",
      status: "ONLINE",
    });
  });

  it("gets a cancel at once through the heartbeat that it keeps open", async () => {
    const job = await queue();
    await runner.get(claimJob, {});
    await runner.get(reportStatus, { params: job, body: { status: "PROCESSING" } });
    const open = runner.get(heartbeat, { query: { wait: 20 }, body: { version } });
    await pause(30);
    const cancelled = Date.now();
    await client.get(cancelJob, { params: job });
    expect(await open).toMatchObject({ cancelled_job_ids: [job.id] });
    expect(Date.now() - cancelled).toBeLessThan(2000);
    // Told again, should the answer have been lost, but not in a tight loop.
    const again = Date.now();
    expect(await runner.get(heartbeat, { query: { wait: 20 }, body: { version } })).toMatchObject({
      cancelled_job_ids: [job.id],
    });
    expect(Date.now() - again).toBeGreaterThan(500);
  });

  it("gets a drain at once through the heartbeat that it keeps open", async () => {
    const open = runner.get(heartbeat, { query: { wait: 20 }, body: { version } });
    await pause(30);
    await client.get(endpoints.drainWorker, { params: worker });
    expect(await open).toMatchObject({ status: "DRAINING" });
  });

  it("refuses a second agent with the same identity while the first is there", async () => {
    await runner.get(heartbeat, { body: { version, instance_id: "one" } });
    expect(await runner.refusal(heartbeat, { body: { version, instance_id: "two" } })).toBe(
      "409 identity_in_use",
    );
    await runner.get(heartbeat, { body: { version, instance_id: "one" } });
    await runner.get(heartbeat, { body: { version } });
  });

  it("is OFFLINE at once when its agent leaves, and the next agent takes the identity over", async () => {
    const leaving = { version, instance_id: "one", active_job_ids: [], leaving: true };
    await runner.get(heartbeat, { body: { version, instance_id: "one" } });
    expect(await runner.get(heartbeat, { query: { wait: 20 }, body: leaving })).toMatchObject({
      status: "OFFLINE",
    });
    expect(await client.get(getWorker, { params: worker })).toMatchObject({ status: "OFFLINE" });
    const next = { version, instance_id: "two" };
    expect(await runner.get(heartbeat, { body: next })).toMatchObject({ status: "ONLINE" });
    // Another instance cannot end this one.
    expect(await runner.refusal(heartbeat, { body: leaving })).toBe("409 identity_in_use");
  });

  it("that says it leaves while it holds a job stays ONLINE", async () => {
    const job = await queue();
    await runner.get(claimJob, {});
    const body = { version, instance_id: "one", active_job_ids: [job.id], leaving: true };
    expect(await runner.get(heartbeat, { body })).toMatchObject({ status: "ONLINE" });
    expect(await runner.refusal(heartbeat, { body: { version, instance_id: "two" } })).toBe(
      "409 identity_in_use",
    );
  });

  it("is proved to be known only to a caller with its token", async () => {
    const nonce = "a text of the agent's own";
    const prove = async (worker_id: string) =>
      (await callsOf(plane, {}).get(endpoints.proveWorker, { body: { worker_id, nonce } })).proof;
    const proof = await prove(worker.id);
    const hmac = createHmac("sha256", hashToken(worker.headers["x-worker-token"] ?? ""));
    expect(proof).toBe(hmac.update(`windlass worker proof\n${nonce}`).digest("base64url"));
    expect(await prove(worker.id.toUpperCase())).toBe(proof);
    // One that is not known looks the same.
    expect(await prove(randomUUID())).toHaveLength(proof.length);
  });

  describe("whose token is rotated", () => {
    const rotate = (body: { overlap_seconds?: number } | null) =>
      client.get(endpoints.rotateWorkerToken, { params: worker, body });
    const beat = async (token: string) => {
      const headers = { "x-worker-id": worker.id, "x-worker-token": token };
      const answer = await ask(plane, "POST", "/api/workers/heartbeat", {
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ version }),
      });
      return answer.status;
    };
    const expireAt = (old_token_expires_at: number) =>
      plane.context.store.write((tx) => updateWorker(tx, worker.id, { old_token_expires_at }));
    const first = () => worker.headers["x-worker-token"] ?? "";

    it("is known by both tokens for ten minutes, and then by the new one", async () => {
      const before = Date.now();
      const { worker_token: second, old_token_expires_at: expires } = await rotate(null);
      expect(Date.parse(expires ?? "") - before).toBeGreaterThanOrEqual(600_000);
      expect([await beat(first()), await beat(second)]).toEqual([200, 200]);
      await expireAt(Date.now() - 1);
      expect([await beat(first()), await beat(second)]).toEqual([401, 200]);
    });

    it("is known by no older token, and by no token once it is removed", async () => {
      const { worker_token: second } = await rotate({ overlap_seconds: 60 });
      const { worker_token: third } = await rotate({});
      expect([await beat(first()), await beat(second), await beat(third)]).toEqual([401, 200, 200]);
      await client.ask(endpoints.deleteWorker, { params: worker });
      expect([await beat(second), await beat(third)]).toEqual([401, 401]);
    });

    it("is known by the new token alone when there is to be no overlap", async () => {
      const rotated = await rotate({ overlap_seconds: 0 });
      expect(rotated.old_token_expires_at).toBeNull();
      expect([await beat(first()), await beat(rotated.worker_token)]).toEqual([401, 200]);
    });

    it("keeps what it has parked while the old token works", async () => {
      const parked = runner.get(claimJob, { query: { wait: 20 } });
      const open = runner.get(heartbeat, { query: { wait: 20 }, body: { version } });
      await pause(30);
      await rotate({});
      const { id } = await queue();
      expect((await parked)?.job.id).toBe(id);
      await client.get(endpoints.drainWorker, { params: worker });
      expect(await open).toMatchObject({ status: "DRAINING" });
    });

    it.each([601, -1, 1.5, "60"])("does not take an overlap of %s", async (overlap_seconds) => {
      const body = { overlap_seconds: overlap_seconds as number };
      const input = { params: worker, body };
      expect(await client.refusal(endpoints.rotateWorkerToken, input)).toBe("400 invalid_request");
    });
  });

  it("merges metadata and cannot change how it was deployed", async () => {
    const merge = (body: object) =>
      runner.get(updateWorkerMetadata, { params: worker, body: body as never });
    await merge({ a: { x: 1, y: 2 }, b: 1 });
    expect((await merge({ a: { y: null }, b: [2] })).metadata).toEqual({ a: { x: 1 }, b: [2] });
    expect(
      await runner.refusal(updateWorkerMetadata, {
        params: worker,
        body: { deploy_configuration: {} },
      }),
    ).toBe("400 invalid_request");
    expect(
      await runner.refusal(updateWorkerMetadata, {
        params: worker,
        body: { big: "x".repeat(70_000) },
      }),
    ).toBe("413 payload_too_large");
    expect((await runner.get(readWorker, { params: worker })).metadata).toEqual({
      a: { x: 1 },
      b: [2],
    });
  });

  it("reads itself and no other worker", async () => {
    const other = await addTestWorker(plane, owner);
    expect(await runner.get(readWorker, { params: worker })).toMatchObject({ id: worker.id });
    expect(await runner.refusal(readWorker, { params: other })).toBe("404 not_found");
    expect(await runner.refusal(readWorker, { params: { id: "no-uuid" } })).toBe(
      "400 invalid_request",
    );
  });

  it("is seen and changed by its owner only; a cloud-hosted one is seen by all, without its details", async () => {
    const stranger = callsOf(
      plane,
      await clientHeaders(plane, await addOwner(plane.context.store)),
    );
    for (const endpoint of [
      getWorker,
      endpoints.drainWorker,
      endpoints.undrainWorker,
      endpoints.rotateWorkerToken,
      endpoints.deleteWorker,
    ])
      expect(await stranger.refusal(endpoint, { params: worker })).toBe("404 not_found");
    const cloud = await addTestWorker(plane, null);
    await callsOf(plane, cloud.headers).get(updateWorkerMetadata, {
      params: cloud,
      body: { secret: 1 },
    });
    await callsOf(plane, cloud.headers).get(heartbeat, {
      body: { version, hostname: "h", os: "linux", capacity: 2, isolation: "uid", labels: ["x"] },
    });
    const shown = await stranger.get(getWorker, { params: cloud });
    expect(shown).toEqual({
      id: cloud.id,
      name: cloud.name,
      mode: "cloud-hosted",
      status: "ONLINE",
      version,
      features: [],
      labels: [],
      hostname: null,
      os: null,
      arch: null,
      capacity: null,
      isolation: null,
      active_job_ids: [],
      last_heartbeat: null,
      metadata: {},
      created_at: shown.created_at,
    });
    for (const endpoint of [
      endpoints.drainWorker,
      endpoints.rotateWorkerToken,
      endpoints.deleteWorker,
    ])
      expect(await stranger.refusal(endpoint, { params: cloud })).toBe("404 not_found");
  });

  it("that is removed loses its jobs at once", async () => {
    const [waiting, started] = [await queue(), await queue()];
    await runner.get(claimJob, {});
    await runner.get(claimJob, {});
    await runner.get(reportStatus, { params: started, body: { status: "PROCESSING" } });
    await client.ask(endpoints.deleteWorker, { params: worker });
    expect(await client.get(getJob, { params: waiting })).toMatchObject({
      status: "QUEUED",
      worker_id: null,
    });
    expect(await client.get(getJob, { params: started })).toMatchObject({
      status: "FAILED",
      error_message: "runner lost, outcome unknown",
      presumed_lost_at: expect.any(String),
      outcome_unknown: true,
    });
  });

  it("is torn down by another worker, and gone when that succeeded", async () => {
    const spec = await addSpec(plane.context.store, owner);
    const target = await addTestWorker(plane, owner);
    const teardown = { job_type: "DESTROY_WORKER", assigned_worker_id: target.id } as const;
    expect(await client.refusal(createJob, { body: teardown })).toBe("409 no_deploy_configuration");
    await client.get(endpoints.updateWorker, {
      params: target,
      body: { deploy_configuration: { configuration_id: spec, targets: ["module.worker"] } },
    });
    const job = await client.get(createJob, { body: teardown });
    expect(await client.get(getWorker, { params: target })).toMatchObject({ status: "DRAINING" });
    expect(await callsOf(plane, target.headers).ask(claimJob, {})).toBeNull();
    const claimed = await runner.get(claimJob, {});
    expect(claimed.job).toMatchObject({
      id: job.id,
      spec_id: spec,
      assigned_worker_id: target.id,
      targets: ["module.worker"],
    });
    expect(await runner.get(readWorker, { params: target })).toMatchObject({ id: target.id });
    await runner.get(reportStatus, { params: job, body: { status: "SUCCESS" } });
    expect(await client.refusal(getWorker, { params: target })).toBe("404 not_found");
  });
});

describe("a worker that falls silent", () => {
  it("is OFFLINE on time, comes back with a heartbeat, and keeps a job that it comes back for", async () => {
    const { worker, client, runner, queue } = await people(hasty);
    const status = async () => (await client.get(getWorker, { params: worker })).status;
    const silentSince = Date.now();
    await runner.get(heartbeat, { body: { version } });
    const job = await queue();
    await runner.get(claimJob, {});
    await runner.get(reportStatus, { params: job, body: { status: "PROCESSING" } });
    await vi.waitUntil(async () => (await status()) === "OFFLINE", {
      interval: 10,
      timeout: 60_000,
    });
    expect(Date.now() - silentSince).toBeGreaterThanOrEqual(1000);
    await runner.get(heartbeat, { body: { version } });
    expect(await status()).toBe("ONLINE");
    expect(await client.get(getJob, { params: job })).toMatchObject({ status: "PROCESSING" });
  });

  it("loses its jobs: what has not started is queued again, what has is FAILED and never repeated", async () => {
    const { client, runner, queue } = await people(hasty);
    const [waiting, started, cancelled] = [await queue(), await queue(), await queue()];
    for (const _ of [1, 2, 3]) await runner.get(claimJob, {});
    for (const params of [started, cancelled])
      await runner.get(reportStatus, { params, body: { status: "PROCESSING" } });
    await client.get(cancelJob, { params: cancelled });
    const read = (params: { id: string }) => client.get(getJob, { params });
    await vi.waitUntil(async () => (await read(started)).status === "FAILED", {
      interval: 20,
      timeout: 60_000,
    });
    expect(await read(started)).toMatchObject({ error_message: "runner lost, outcome unknown" });
    expect(await read(waiting)).toMatchObject({
      status: "QUEUED",
      waiting_reason: "no_worker_online",
    });
    expect((await read(cancelled)).released_at).not.toBeNull();
    // What it says late is what happened.
    await runner.get(reportStatus, { params: started, body: { status: "SUCCESS" } });
    expect(await read(started)).toMatchObject({ status: "SUCCESS", error_message: null });
  });

  it("keeps its jobs as long as it calls, heartbeat or not", async () => {
    const { client, runner, queue } = await people(hasty);
    const job = await queue();
    await runner.get(claimJob, {});
    await runner.get(reportStatus, { params: job, body: { status: "PROCESSING" } });
    for (let count = 0; count < 12; count += 1) {
      await runner.get(endpoints.appendLogs, {
        params: job,
        body: { log_chunk: "x", stream_type: "STDOUT" },
      });
      await pause(200);
    }
    expect(await client.get(getJob, { params: job })).toMatchObject({ status: "PROCESSING" });
  });

  it("loses a job that its heartbeats leave out, and only if they carry the list", async () => {
    const { client, runner, queue } = await people(hasty);
    const job = await queue();
    await runner.get(claimJob, {});
    const beat = async (times: number, body: object) => {
      for (let count = 0; count < times; count += 1) {
        await runner.get(heartbeat, { body: { version, ...body } });
        await pause(250);
      }
    };
    const status = async () => (await client.get(getJob, { params: job })).status;
    await beat(8, {});
    expect(await status()).toBe("PROCESSING");
    await beat(8, { active_job_ids: [job.id] });
    expect(await status()).toBe("PROCESSING");
    while ((await status()) !== "QUEUED") await beat(1, { active_job_ids: [] });
  });
});
