import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { hashToken } from "../../../../control-plane/domain/tokens.ts";
import { updateWorker } from "../../../../control-plane/store/workers/workers.ts";
import { watchOnce } from "../../../../control-plane/services/workers/watch.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  addTestWorker,
  ask,
  clientHeaders,
  type Plane,
  readRow,
  readRows,
  type TestWorker,
} from "../../../helpers/plane/plane.ts";
import { addSpec, type Owner } from "../../../helpers/plane/rows.ts";

const version = "1.2.3";
/** OFFLINE after 1 s and lost 1.5 s later, so that a busy machine has time for a call. */
const fast = {
  WINDLASS_HEARTBEAT_SECONDS: "0.5",
  WINDLASS_OFFLINE_SECONDS: "1",
  WINDLASS_LOST_SECONDS: "1.5",
};

const { plane } = planeForFile();
const { plane: impatient } = planeForFile(fast);

async function newUser(at: Plane) {
  const user = await addTestUser(at);
  const queue = async () =>
    user.client.call("createJob", {
      body: { job_type: "DEPLOY", configuration_id: await addSpec(at.context.store, user.owner) },
    });
  return { ...user, queue };
}

describe("a worker", () => {
  let owner: Owner;
  let worker: TestWorker;
  let runner: Calls;
  let client: Calls;
  let queue: () => Promise<{ id: string }>;
  beforeEach(async () => {
    ({ owner, worker, runner, client, queue } = await newUser(plane));
  });
  const register = (
    headers: Record<string, string>,
    body: object = { name: "w", mode: "self-hosted" },
  ) => callsOf(plane, headers).call("registerWorker", { body: body as never });

  it("registers with a registration token, as often as the token allows", async () => {
    const { registration_token } = await client.call("createRegistrationToken", {
      body: { uses: 2 },
    });
    const headers = { "x-registration-token": registration_token };
    const identities = [await register(headers), await register(headers)];
    expect(new Set(identities.map(({ worker_id }) => worker_id)).size).toBe(2);
    expect(identities[0]!.worker_token).toMatch(/^wlw_[\w-]{43}$/);
    expect(await callsOf(plane, headers).refusal("registerWorker", { body: { name: "w" } })).toBe(
      "401 unauthenticated",
    );
    const { workers } = await client.call("listWorkers");
    expect(workers.map(({ status }) => status)).toEqual(["REGISTERED", "REGISTERED", "ONLINE"]);
  });

  it("registers only with a registration token that is not revoked", async () => {
    const { client: otherClient } = await addTestUser(plane);
    const list = async () => (await client.call("listRegistrationTokens")).registration_tokens;
    const [first, second] = [
      await client.call("createRegistrationToken", { body: { uses: 2 } }),
      await client.call("createRegistrationToken", { body: {} }),
    ];
    const ids = (await list()).map(({ id }) => id);
    expect(new Set(ids)).toEqual(new Set([first.id, second.id]));
    expect(JSON.stringify(await list())).not.toContain("wlr_");
    const page = await client.call("listRegistrationTokens", { query: { limit: 1 } });
    const cursor = page.next_cursor ?? "";
    const rest = await client.call("listRegistrationTokens", { query: { limit: 1, cursor } });
    expect([...page.registration_tokens, ...rest.registration_tokens].map(({ id }) => id)).toEqual(
      ids,
    );
    expect(await client.refusal("listRegistrationTokens", { query: { cursor: "x" } })).toBe(
      "400 invalid_cursor",
    );

    const params = { id: first.id ?? "" };
    expect(await otherClient.call("listRegistrationTokens")).toMatchObject({
      registration_tokens: [],
    });
    expect(await otherClient.refusal("revokeRegistrationToken", { params })).toBe("404 not_found");
    const headers = { "x-registration-token": first.registration_token };
    await register(headers);
    await client.call("revokeRegistrationToken", { params });
    const caller = callsOf(plane, headers);
    expect(await caller.refusal("registerWorker", { body: { name: "w" } })).toBe(
      "401 unauthenticated",
    );
    expect(await client.refusal("revokeRegistrationToken", { params })).toBe("404 not_found");
    // A token that is used up is not listed.
    await register({ "x-registration-token": second.registration_token });
    expect(await list()).toEqual([]);
  });

  it("is registered by a user, who gets its token once", async () => {
    const made = await client.call("createWorker", {
      body: { name: "mine", labels: ["eu"] },
    });
    const own = callsOf(plane, {
      "x-worker-id": made.worker_id,
      "x-worker-token": made.worker_token,
    });
    expect(await own.call("readWorker", { params: { id: made.worker_id } })).toMatchObject({
      name: "mine",
      mode: "self-hosted",
      labels: ["eu"],
      status: "REGISTERED",
    });
    const refused = { name: "mine", mode: "cloud-hosted" } as never;
    expect(await client.refusal("createWorker", { body: refused })).toBe("400 invalid_request");
  });

  it("is stored without its token in recoverable form", async () => {
    const { worker_token } = await register(await clientHeaders(plane, owner));
    expect(await plane.holds(worker_token)).toEqual([]);
  });

  it.each(["a token", "a person", "a worker"])(
    "registered by %s stores only its name, labels and isolation",
    async (kind) => {
      const { registration_token } = await client.call("createRegistrationToken", { body: {} });
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
      expect(await client.call("getWorker", { params: { id: made.worker_id } })).toMatchObject({
        ...known,
        metadata: {},
      });
      expect(await readRow(plane, "workers", { id: made.worker_id })).toMatchObject({
        metadata: "{}",
        owner_id: owner.id,
        draining_at: null,
      });
    },
  );

  it("registers again with its own token: it keeps its id, gets a new token, and the old one is refused", async () => {
    const renewed = await register(worker.headers, { name: "renamed" });
    expect(renewed.worker_id).toBe(worker.id);
    expect(await runner.refusal("heartbeat", { body: { version } })).toBe(
      "401 invalid_worker_token",
    );
    const headers = { "x-worker-id": worker.id, "x-worker-token": renewed.worker_token };
    expect(await callsOf(plane, headers).call("readWorker", { params: worker })).toMatchObject({
      name: "renamed",
    });
  });

  it.each([
    ["no credential", {}, { name: "w" }, "401 unauthenticated"],
    [
      "an unknown registration token",
      { "x-registration-token": "wlr_x" },
      { name: "w" },
      "401 unauthenticated",
    ],
    [
      "unknown worker headers",
      { "x-worker-id": "x", "x-worker-token": "y" },
      { name: "w" },
      "401 invalid_worker_token",
    ],
  ])("does not register with %s", async (_, headers, body, refusal) => {
    expect(await callsOf(plane, headers as never).refusal("registerWorker", { body })).toBe(
      refusal,
    );
  });

  it.each([
    ["without a name", {}],
    ["with an empty name", { name: "" }],
    ["with a control character in its name", { name: "a\nb" }],
    ["with too long a name", { name: "x".repeat(101) }],
    ["as cloud-hosted", { name: "w", mode: "cloud-hosted" }],
  ])("does not register %s", async (_, body) => {
    const headers = await clientHeaders(plane, owner);
    expect(await callsOf(plane, headers).refusal("registerWorker", { body: body as never })).toBe(
      "400 invalid_request",
    );
  });

  it("reports its machine in a heartbeat, and keeps what a later heartbeat leaves out", async () => {
    const about = {
      hostname: "h",
      os: "linux",
      arch: "x64",
      capacity: 3,
      isolation: "process",
      labels: ["eu"],
    };
    const answer = await runner.call("heartbeat", {
      body: { version, ...about, active_job_ids: [] },
    });
    expect(answer).toMatchObject({
      worker_id: worker.id,
      status: "ONLINE",
      heartbeat_interval_seconds: 30,
      cancelled_job_ids: [],
    });
    await runner.call("heartbeat", { body: { version: "1.2.4" } });
    expect(await client.call("getWorker", { params: worker })).toMatchObject({
      ...about,
      version: "1.2.4",
      status: "ONLINE",
    });
  });

  it("gets a cancellation at once through its open heartbeat", async () => {
    const job = await queue();
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
    const open = runner.call("heartbeat", { query: { wait: 20 }, body: { version } });
    await pause(30);
    const cancelled = Date.now();
    await client.call("cancelJob", { params: job });
    expect(await open).toMatchObject({ cancelled_job_ids: [job.id] });
    expect(Date.now() - cancelled).toBeLessThan(2000);
    // Repeated in case the response was lost, but not in a tight loop.
    const again = Date.now();
    expect(
      await runner.call("heartbeat", { query: { wait: 20 }, body: { version } }),
    ).toMatchObject({
      cancelled_job_ids: [job.id],
    });
    expect(Date.now() - again).toBeGreaterThan(500);
  });

  it("gets a drain at once through its open heartbeat", async () => {
    const open = runner.call("heartbeat", { query: { wait: 20 }, body: { version } });
    await pause(30);
    await client.call("drainWorker", { params: worker });
    expect(await open).toMatchObject({ status: "DRAINING" });
  });

  it("refuses a second agent with the same identity while the first is alive", async () => {
    await runner.call("heartbeat", { body: { version, instance_id: "one" } });
    expect(await runner.refusal("heartbeat", { body: { version, instance_id: "two" } })).toBe(
      "409 identity_in_use",
    );
    await runner.call("heartbeat", { body: { version, instance_id: "one" } });
    await runner.call("heartbeat", { body: { version } });
  });

  it("is OFFLINE at once when its agent leaves, and the next agent can take over the identity", async () => {
    const leaving = { version, instance_id: "one", active_job_ids: [], leaving: true };
    await runner.call("heartbeat", { body: { version, instance_id: "one" } });
    expect(await runner.call("heartbeat", { query: { wait: 20 }, body: leaving })).toMatchObject({
      status: "OFFLINE",
    });
    expect(await client.call("getWorker", { params: worker })).toMatchObject({ status: "OFFLINE" });
    const next = { version, instance_id: "two" };
    expect(await runner.call("heartbeat", { body: next })).toMatchObject({ status: "ONLINE" });
    // Another instance cannot end this one.
    expect(await runner.refusal("heartbeat", { body: leaving })).toBe("409 identity_in_use");
  });

  it("is removed when it leaves, or is silent for too long, if its registration token is ephemeral", async () => {
    const { registration_token } = await client.call("createRegistrationToken", {
      body: { ephemeral: true, uses: 3 },
    });
    const { registration_tokens } = await client.call("listRegistrationTokens");
    expect(registration_tokens).toMatchObject([{ ephemeral: true }]);
    const headers = { "x-registration-token": registration_token };
    const [leaves, holds, silent] = [
      await register(headers),
      await register(headers),
      await register(headers),
    ].map(({ worker_id, worker_token }) => ({
      id: worker_id,
      calls: callsOf(plane, { "x-worker-id": worker_id, "x-worker-token": worker_token }),
    }));
    const known = async () =>
      (await client.call("listWorkers")).workers.map(({ id }) => id).toSorted();
    const leaving = { version, active_job_ids: [], leaving: true };
    expect(await leaves!.calls.call("heartbeat", { body: leaving })).toMatchObject({
      status: "OFFLINE",
    });
    expect(await known()).toEqual([worker.id, holds!.id, silent!.id].toSorted());
    // The control plane has not heard of the end of its job.
    await queue();
    await holds!.calls.call("claimJob");
    await holds!.calls.call("heartbeat", { body: leaving });
    expect(await known()).toContain(holds!.id);
    const long = { last_heartbeat_at: 1, offline_at: 1, last_call_at: 1 };
    for (const id of [silent!.id, worker.id])
      await plane.context.store.write((tx) => updateWorker(tx, id, long));
    await watchOnce(plane.context, 0);
    expect(await known()).toEqual([worker.id, holds!.id].toSorted());
    const removed = await readRows(plane, "audit_entries", { action: "worker.remove" });
    const told = removed.filter(({ owner_id }) => owner_id === owner.id);
    expect(told.map((entry) => [entry.target_id, entry.actor_kind])).toEqual([
      [leaves!.id, "worker"],
      [silent!.id, "system"],
    ]);
  });

  it("stays ONLINE if its agent leaves while it holds a job", async () => {
    const job = await queue();
    await runner.call("claimJob");
    const body = { version, instance_id: "one", active_job_ids: [job.id], leaving: true };
    expect(await runner.call("heartbeat", { body })).toMatchObject({ status: "ONLINE" });
    expect(await runner.refusal("heartbeat", { body: { version, instance_id: "two" } })).toBe(
      "409 identity_in_use",
    );
  });

  it("gets a proof that only a caller with its token can check", async () => {
    const nonce = "a text of the agent's own";
    const prove = async (worker_id: string) =>
      (await callsOf(plane, {}).call("proveWorker", { body: { worker_id, nonce } })).proof;
    const proof = await prove(worker.id);
    const hmac = createHmac("sha256", hashToken(worker.headers["x-worker-token"] ?? ""));
    expect(proof).toBe(hmac.update(`windlass worker proof\n${nonce}`).digest("base64url"));
    expect(await prove(worker.id.toUpperCase())).toBe(proof);
    // The response for an unknown worker looks the same.
    expect(await prove(randomUUID())).toHaveLength(proof.length);
  });

  describe("whose token is rotated", () => {
    const rotate = (body: { overlap_seconds?: number } | null) =>
      client.call("rotateWorkerToken", { params: worker, body });
    const beat = async (token: string) => {
      const headers = { "x-worker-id": worker.id, "x-worker-token": token };
      const answer = await ask(plane, "POST", "/api/workers/heartbeat", {
        headers,
        json: { version },
      });
      return answer.status;
    };
    const expireAt = async (old_token_expires_at: number) => {
      await plane.context.store.write((tx) =>
        updateWorker(tx, worker.id, { old_token_expires_at }),
      );
      plane.context.wakeups.notify("worker", worker.id);
    };
    const first = () => worker.headers["x-worker-token"] ?? "";

    it("is accepted with both tokens for ten minutes, and then with the new one only", async () => {
      const before = Date.now();
      const { worker_token: second, old_token_expires_at: expires } = await rotate(null);
      expect(Date.parse(expires ?? "") - before).toBeGreaterThanOrEqual(600_000);
      expect([await beat(first()), await beat(second)]).toEqual([200, 200]);
      // The clock of the server may be behind by some milliseconds.
      await expireAt(Date.now() - 10_000);
      expect([await beat(first()), await beat(second)]).toEqual([401, 200]);
    });

    it("is accepted with no older token, and with no token once it is deleted", async () => {
      const { worker_token: second } = await rotate({ overlap_seconds: 60 });
      const { worker_token: third } = await rotate({});
      expect([await beat(first()), await beat(second), await beat(third)]).toEqual([401, 200, 200]);
      await client.call("deleteWorker", { params: worker });
      expect([await beat(second), await beat(third)]).toEqual([401, 401]);
    });

    it("is accepted with the new token only if the overlap is 0", async () => {
      const rotated = await rotate({ overlap_seconds: 0 });
      expect(rotated.old_token_expires_at).toBeNull();
      expect([await beat(first()), await beat(rotated.worker_token)]).toEqual([401, 200]);
    });

    it("keeps its waiting calls while the old token works", async () => {
      const parked = runner.call("claimJob", { query: { wait: 20 } });
      const open = runner.call("heartbeat", { query: { wait: 20 }, body: { version } });
      await pause(30);
      await rotate({});
      const { id } = await queue();
      expect((await parked)?.job.id).toBe(id);
      await client.call("drainWorker", { params: worker });
      expect(await open).toMatchObject({ status: "DRAINING" });
    });

    it("loses its waiting heartbeat when the overlap ends", async () => {
      const open = runner.refusal("heartbeat", { query: { wait: 30 }, body: { version } });
      await pause(50);
      await rotate({ overlap_seconds: 1 });
      expect(await open).toBe("401 invalid_worker_token");
    });

    it.each([601, -1, 1.5, "60"])("refuses an overlap of %s", async (overlap_seconds) => {
      const body = { overlap_seconds: overlap_seconds as number };
      const input = { params: worker, body };
      expect(await client.refusal("rotateWorkerToken", input)).toBe("400 invalid_request");
    });
  });

  it("merges its metadata and cannot change its deploy configuration", async () => {
    const merge = (body: object) =>
      runner.call("updateWorkerMetadata", { params: worker, body: body as never });
    await merge({ a: { x: 1, y: 2 }, b: 1 });
    expect((await merge({ a: { y: null }, b: [2] })).metadata).toEqual({ a: { x: 1 }, b: [2] });
    expect(
      await runner.refusal("updateWorkerMetadata", {
        params: worker,
        body: { deploy_configuration: {} },
      }),
    ).toBe("400 invalid_request");
    expect(
      await runner.refusal("updateWorkerMetadata", {
        params: worker,
        body: { big: "x".repeat(70_000) },
      }),
    ).toBe("413 payload_too_large");
    expect((await runner.call("readWorker", { params: worker })).metadata).toEqual({
      a: { x: 1 },
      b: [2],
    });
  });

  it("reads itself and no other worker", async () => {
    const other = await addTestWorker(plane, owner);
    expect(await runner.call("readWorker", { params: worker })).toMatchObject({ id: worker.id });
    expect(await runner.refusal("readWorker", { params: other })).toBe("404 not_found");
    expect(await runner.refusal("readWorker", { params: { id: "no-uuid" } })).toBe(
      "400 invalid_request",
    );
  });

  it("is visible to its owner only; a cloud-hosted worker is visible to every user, without details", async () => {
    const { client: otherClient } = await addTestUser(plane);
    for (const endpoint of [
      "getWorker",
      "drainWorker",
      "undrainWorker",
      "rotateWorkerToken",
      "deleteWorker",
    ] as const)
      expect(await otherClient.refusal(endpoint, { params: worker })).toBe("404 not_found");
    const cloud = await addTestWorker(plane, null);
    await callsOf(plane, cloud.headers).call("updateWorkerMetadata", {
      params: cloud,
      body: { secret: 1 },
    });
    await callsOf(plane, cloud.headers).call("heartbeat", {
      body: { version, hostname: "h", os: "linux", capacity: 2, isolation: "uid", labels: ["x"] },
    });
    const shown = await otherClient.call("getWorker", { params: cloud });
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
    for (const endpoint of ["drainWorker", "rotateWorkerToken", "deleteWorker"] as const)
      expect(await otherClient.refusal(endpoint, { params: cloud })).toBe("404 not_found");
  });

  it("is shown to users with the jobs that it holds now, whatever its last heartbeat said", async () => {
    const held = async () => {
      const { workers } = await client.call("listWorkers");
      const shown = await client.call("getWorker", { params: worker });
      expect(workers).toContainEqual(shown);
      return [shown.active_job_ids, shown.held_job_ids];
    };
    const job = await queue();
    await runner.call("claimJob");
    expect(await held()).toEqual([[], [job.id]]);
    await runner.call("heartbeat", { body: { version, active_job_ids: [job.id] } });
    const body = { status: "SUCCESS" } as const;
    await runner.ask("reportStatus", { params: job, body: { status: "PROCESSING" } });
    await runner.ask("reportStatus", { params: job, body });
    expect(await held()).toEqual([[job.id], []]);
    const drained = await client.call("drainWorker", { params: worker });
    expect(drained.held_job_ids).toEqual([]);
    expect(await runner.call("readWorker", { params: worker })).not.toHaveProperty("held_job_ids");
  });

  it("loses its jobs at once when it is deleted", async () => {
    const [waiting, started] = [await queue(), await queue()];
    await runner.call("claimJob");
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: started, body: { status: "PROCESSING" } });
    await client.call("deleteWorker", { params: worker });
    expect(await client.call("getJob", { params: waiting })).toMatchObject({
      status: "QUEUED",
      worker_id: null,
    });
    expect(await client.call("getJob", { params: started })).toMatchObject({
      status: "FAILED",
      error_message: "runner lost, outcome unknown",
      presumed_lost_at: expect.any(String),
      outcome_unknown: true,
    });
  });

  it("is torn down by another worker, and deleted when that succeeds", async () => {
    const spec = await addSpec(plane.context.store, owner);
    const target = await addTestWorker(plane, owner);
    const teardown = { job_type: "DESTROY_WORKER", assigned_worker_id: target.id } as const;
    expect(await client.refusal("createJob", { body: teardown })).toBe(
      "409 no_deploy_configuration",
    );
    await client.call("updateWorker", {
      params: target,
      body: { deploy_configuration: { configuration_id: spec, targets: ["module.worker"] } },
    });
    const job = await client.call("createJob", { body: teardown });
    expect(await client.call("getWorker", { params: target })).toMatchObject({
      status: "DRAINING",
    });
    expect(await callsOf(plane, target.headers).ask("claimJob")).toBeNull();
    const claimed = await runner.call("claimJob");
    expect(claimed.job).toMatchObject({
      id: job.id,
      spec_id: spec,
      assigned_worker_id: target.id,
      targets: ["module.worker"],
    });
    expect(await runner.call("readWorker", { params: target })).toMatchObject({ id: target.id });
    await runner.call("reportStatus", { params: job, body: { status: "SUCCESS" } });
    expect(await client.refusal("getWorker", { params: target })).toBe("404 not_found");
  });
});

describe.concurrent("a silent worker", () => {
  it("becomes OFFLINE on time, and keeps its job if it returns with a heartbeat", async () => {
    const { worker, client, runner, queue } = await newUser(impatient);
    const status = async () => (await client.call("getWorker", { params: worker })).status;
    const silentSince = Date.now();
    await runner.call("heartbeat", { body: { version } });
    const job = await queue();
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
    await vi.waitUntil(async () => (await status()) === "OFFLINE", {
      interval: 10,
      timeout: 60_000,
    });
    expect(Date.now() - silentSince).toBeGreaterThanOrEqual(1000);
    await runner.call("heartbeat", { body: { version } });
    expect(await status()).toBe("ONLINE");
    expect(await client.call("getJob", { params: job })).toMatchObject({ status: "PROCESSING" });
  });

  it("loses its jobs: one that has not started is queued again, a started one is FAILED and not repeated", async () => {
    const { client, runner, queue } = await newUser(impatient);
    const [waiting, started, cancelled] = [await queue(), await queue(), await queue()];
    for (const _ of [1, 2, 3]) await runner.call("claimJob");
    for (const params of [started, cancelled])
      await runner.call("reportStatus", { params, body: { status: "PROCESSING" } });
    await client.call("cancelJob", { params: cancelled });
    const read = (params: { id: string }) => client.call("getJob", { params });
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
    // A late report is what really happened.
    await runner.call("reportStatus", { params: started, body: { status: "SUCCESS" } });
    expect(await read(started)).toMatchObject({ status: "SUCCESS", error_message: null });
  });

  it("keeps its jobs while it makes any calls, even without heartbeats", async () => {
    const { client, runner, queue } = await newUser(impatient);
    const job = await queue();
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
    for (let count = 0; count < 16; count += 1) {
      await runner.call("appendLogs", {
        params: job,
        body: { log_chunk: "x", stream_type: "STDOUT" },
      });
      await pause(200);
    }
    expect(await client.call("getJob", { params: job })).toMatchObject({ status: "PROCESSING" });
  });

  it("loses a job that its heartbeats leave out, but only if they carry the list of jobs", async () => {
    const { client, runner, queue } = await newUser(impatient);
    const job = await queue();
    await runner.call("claimJob");
    const beat = async (times: number, body: object) => {
      for (let count = 0; count < times; count += 1) {
        await runner.call("heartbeat", { body: { version, ...body } });
        await pause(250);
      }
    };
    const status = async () => (await client.call("getJob", { params: job })).status;
    await beat(12, {});
    expect(await status()).toBe("PROCESSING");
    await beat(12, { active_job_ids: [job.id] });
    expect(await status()).toBe("PROCESSING");
    while ((await status()) !== "QUEUED") await beat(1, { active_job_ids: [] });
  });
});
