import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { features, type Feature } from "../../../../protocol/features.ts";
import { Claims } from "../../../../control-plane/services/claims/claims.ts";
import { findWorkerCaller } from "../../../../control-plane/store/workers/workers.ts";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { addRunner, addTestUser } from "../../../helpers/people/user.ts";
import { addTestWorker, readJob, setJob, type TestWorker } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import type { JobRow } from "../../../../control-plane/domain/job.ts";
import { addLock } from "../../../../control-plane/store/states/states.ts";
import { addJob, addSpec, type Owner } from "../../../helpers/plane/rows.ts";
import { origin } from "../../../helpers/people/sign-in.ts";

const { plane } = planeForFile();

describe("a claim", () => {
  let owner: Owner;
  let worker: TestWorker;
  let runner: Calls;
  let client: Calls;

  beforeEach(async () => {
    ({ owner, worker, runner, client } = await addTestUser(plane));
  });
  const claim = (calls: Calls, wait?: number, key?: string) =>
    calls.ask(
      "claimJob",
      { query: wait === undefined ? {} : { wait } },
      { headers: key ? { "idempotency-key": key } : {} },
    );
  const queue = async (change = {}) =>
    client.call("createJob", {
      body: {
        job_type: "PLAN",
        configuration_id: await addSpec(plane.context.store, owner),
        ...change,
      },
    });
  const parked = async (calls: Calls, key?: string) => {
    const claimed = claim(calls, 20, key);
    // The job may be created before or after the server parks the claim: both must work.
    await pause(30);
    return claimed;
  };

  it("returns 204 at once when no job is queued", async () => {
    expect(await claim(runner)).toBeNull();
  });

  it("returns the job with its snapshot, attempt and job token", async () => {
    const job = await queue();
    expect(await claim(runner)).toMatchObject({
      job: {
        id: job.id,
        job_type: "PLAN",
        spec_id: job.spec_id,
        zone_id: owner.zone,
        attempt: 1,
        timeout_seconds: 3600,
        job_token: expect.stringMatching(/^wlj_/),
        config_snapshot: { source: { type: "inline" } },
      },
      cloud_identity: null,
    });
    expect(await readJob(plane, job as never)).toMatchObject({
      status: "PROCESSING",
      started_at: null,
    });
  });

  it("gives each of 100 jobs to exactly one of 200 concurrent claims by 20 workers", async () => {
    const jobs = await Promise.all(Array.from({ length: 100 }, () => queue()));
    const workers = await Promise.all(
      Array.from({ length: 20 }, () => addTestWorker(plane, owner)),
    );
    const claims = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        claim(callsOf(plane, workers[index % 20]!.headers)),
      ),
    );
    const given = claims.flatMap((answer) => answer?.job.id ?? []);
    expect(given.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
  });

  it("gives each of 100 jobs to exactly one waiting claim", async () => {
    const workers = await Promise.all(
      Array.from({ length: 20 }, () => addTestWorker(plane, owner)),
    );
    const given: string[] = [];
    const take = async (calls: Calls) => {
      while (given.length < 100) {
        const answer = await claim(calls, given.length < 95 ? 1 : 0.2);
        if (answer) given.push(answer.job.id);
      }
    };
    const taking = Promise.all(workers.map(({ headers }) => take(callsOf(plane, headers))));
    const jobs = await Promise.all(Array.from({ length: 100 }, () => queue()));
    await taking;
    expect(given.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
  });

  it("returns a job as soon as it is created while the claim waits", async () => {
    const claimed = parked(runner);
    const job = await queue();
    expect((await claimed)?.job.id).toBe(job.id);
  });

  it("returns the next job of a configuration when the previous one ends while the claim waits", async () => {
    const first = await queue();
    await claim(runner);
    const second = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: first.spec_id! },
    });
    expect(second.waiting_reason).toBe("configuration_busy");
    const claimed = parked(runner);
    await runner.call("reportStatus", { params: { id: first.id }, body: { status: "SUCCESS" } });
    expect((await claimed)?.job.id).toBe(second.id);
  });

  it("is awaited only of a runner that has started", async () => {
    const create = (name: string) =>
      client.call("createWorker", { body: { name, labels: ["gpu"] } });
    const waitsFor = async () =>
      (await client.call("getJob", { params: { id: job.id } })).waiting_reason;
    await create("never started");
    const job = await queue({ labels: ["gpu"] });
    expect(job.waiting_reason).toBe("no_worker_online");
    const { worker_id, worker_token } = await create("starts");
    expect(await waitsFor()).toBe("no_worker_online");
    const started = callsOf(plane, { "x-worker-id": worker_id, "x-worker-token": worker_token });
    await started.call("heartbeat", { body: { version: "1.0.0" } });
    expect(await waitsFor()).toBe("waiting_for_worker");
  });

  it("leaves the job to another worker after the waiting client has disconnected", async () => {
    const leaving = new AbortController();
    const left = runner.ask("claimJob", { query: { wait: 20 } }, { signal: leaving.signal });
    await pause(30);
    leaving.abort();
    await expect(left).rejects.toThrow(/abort/i);
    const job = await queue();
    const other = await addRunner(plane, owner);
    expect((await claim(other, 5))?.job.id).toBe(job.id);
  });

  it("repeats its response for the same Idempotency-Key until the job has started", async () => {
    const job = await queue();
    await queue();
    const first = await claim(runner, 0, "key-1");
    expect(first?.job.id).toBe(job.id);
    expect(await claim(runner, 0, "key-1")).toEqual(first);
    await runner.call("reportStatus", { params: { id: job.id }, body: { status: "PROCESSING" } });
    expect((await claim(runner, 0, "key-1"))?.job.id).not.toBe(job.id);
  });

  it("returns one job to two concurrent claims with the same Idempotency-Key", async () => {
    await queue();
    const second = await queue();
    const worker_caller = await plane.context.store.read.first(findWorkerCaller, worker);
    const claims = new Claims(plane.context);
    const ask = () =>
      claims.claim({
        worker: { ...worker_caller!, presented_hash: worker_caller!.token_hash, origin },
        key: "key-3",
        waitMilliseconds: 0,
        disconnected: () => new AbortController().signal,
      });
    const [one, two] = await Promise.all([ask(), ask()]);
    await claims.close();
    expect(one).not.toBeNull();
    expect(two).toBe(one);
    expect(await readJob(plane, second as never)).toMatchObject({ status: "QUEUED" });
  });

  it("joins a waiting claim with the same Idempotency-Key", async () => {
    const twice = [parked(runner, "key-2"), parked(runner, "key-2")];
    const job = await queue();
    expect((await Promise.all(twice)).map((answer) => answer?.job.id)).toEqual([job.id, job.id]);
    expect(await readJob(plane, job as never)).toMatchObject({ attempt: 1 });
  });

  it("returns 204 when its worker starts to drain, and no job until the drain ends", async () => {
    const claimed = parked(runner);
    await pause(30);
    await client.call("drainWorker", { params: { id: worker.id } });
    expect(await claimed).toBeNull();
    await queue();
    expect(await claim(runner)).toBeNull();
    await client.call("undrainWorker", { params: { id: worker.id } });
    expect(await claim(runner)).not.toBeNull();
  });

  it("returns 401 when the worker's token is replaced or the worker is deleted", async () => {
    const rotated = runner.refusal("claimJob", { query: { wait: 20 } });
    await pause(50);
    const identity = await client.call("rotateWorkerToken", {
      params: { id: worker.id },
      body: { overlap_seconds: 0 },
    });
    expect(await rotated).toBe("401 invalid_worker_token");
    const renewed = callsOf(plane, {
      "x-worker-id": identity.worker_id,
      "x-worker-token": identity.worker_token,
    });
    const removed = renewed.refusal("claimJob", { query: { wait: 20 } });
    await pause(50);
    await client.call("deleteWorker", { params: { id: worker.id } });
    expect(await removed).toBe("401 invalid_worker_token");
  });

  it("skips a job that was cancelled in the queue", async () => {
    const job = await queue();
    await client.call("cancelJob", { params: { id: job.id } });
    expect(await claim(runner)).toBeNull();
  });

  it("finds a job whose wakeup was lost", async () => {
    const claimed = parked(runner);
    await pause(30);
    // Written straight to the store, so that no wakeup is sent.
    const job = await addJob(plane.context.store, owner);
    expect((await claimed)?.job.id).toBe(job.id);
  });

  it("that waits with a rotated token returns 401 when the overlap ends", async () => {
    const claimed = runner.refusal("claimJob", { query: { wait: 30 } });
    await pause(50);
    await client.call("rotateWorkerToken", {
      params: { id: worker.id },
      body: { overlap_seconds: 1 },
    });
    expect(await claimed).toBe("401 invalid_worker_token");
  });

  it("finds a job whose wakeup was lost while another worker's claim that cannot take it waits first", async () => {
    const [idle, claimed] = [parked(runner), pause(60)];
    await claimed;
    const able = await addTestWorker(plane, owner);
    await callsOf(plane, able.headers).call("heartbeat", {
      body: { version: "1.0.0", labels: ["gpu"] },
    });
    const waiting = parked(callsOf(plane, able.headers));
    await pause(30);
    const job = await addJob(plane.context.store, owner, { labels: '["gpu"]' });
    expect((await waiting)?.job.id).toBe(job.id);
    await client.call("drainWorker", { params: { id: worker.id } });
    expect(await idle).toBeNull();
  });

  it.each([
    ["a wait above its limit", { wait: "31" }, "400 invalid_request"],
    ["a wait that is not a number", { wait: "soon" }, "400 invalid_request"],
  ])("refuses %s", async (_, query, refusal) => {
    expect(await runner.refusal("claimJob", { query: query as never })).toBe(refusal);
  });

  it("ignores any request body", async () => {
    for (const [type, body] of [
      ["application/json", ""],
      ["application/json", "{}"],
      ["application/json", "not json"],
      ["text/plain", "x"],
    ] as const) {
      const answer = await fetch(`${plane.url}/api/jobs/claim`, {
        method: "POST",
        headers: { ...worker.headers, "content-type": type },
        body,
      });
      expect(answer.status).toBe(204);
    }
  });

  describe("for a job that needs a feature", () => {
    const uses: [feature: Feature, field: Record<string, unknown>][] = [
      ["var_files", { var_files: ["prod.tfvars"] }],
      ["backend_config", { backend_config: { bucket: "b" } }],
      ["submodules", { submodules: true }],
      ["debug", { debug: true }],
      ["plan_options", { targets: ["module.a"] }],
    ];
    const queueUse = async (use: Record<string, unknown>, change = {}) => {
      const { debug, targets, exclude, ...body } = use;
      const configuration_id = await addSpec(plane.context.store, owner);
      await client.call("updateConfiguration", { params: { name: configuration_id }, body });
      const asked = { job_type: "PLAN" as const, configuration_id, ...change };
      const more = {
        ...(debug === true ? { debug } : {}),
        ...(exclude ? { exclude } : targets ? { targets } : {}),
      };
      return client.call("createJob", { body: { ...asked, ...more } as typeof asked });
    };
    const beat = (reported: object) =>
      runner.call("heartbeat", { body: { version: "1.0.0", ...reported } });
    const waitsFor = async (id: string) =>
      (await client.call("getJob", { params: { id } })).waiting_reason;

    it.each(uses)(
      "returns a job that needs %s only after the agent reports the feature",
      async (feature, field) => {
        const unassigned = await queueUse(field);
        const own = await queueUse(field, { assigned_worker_id: worker.id });
        // A label with the same name does not count, and neither does a heartbeat without features,
        // as an agent that knows only the interface sends it.
        await beat({ labels: [feature] });
        expect(await claim(runner)).toBeNull();
        const plain = await queue();
        expect((await claim(runner))?.job.id).toBe(plain.id);
        const others = features.filter((other) => other !== feature);
        await beat({ features: others });
        expect(await claim(runner)).toBeNull();
        expect(await waitsFor(unassigned.id)).toBe(`needs_${feature}`);
        expect(await waitsFor(own.id)).toBe(`needs_${feature}`);

        await beat({ features: ["not_known_yet", feature] });
        expect(await waitsFor(unassigned.id)).toBe("waiting_for_worker");
        expect((await claim(runner))?.job.id).toBe(unassigned.id);
        await beat({});
        expect(await claim(runner)).toBeNull();
        await beat({ features: [feature] });
        expect((await claim(runner))?.job.id).toBe(own.id);
        expect(await client.call("getWorker", { params: { id: worker.id } })).toMatchObject({
          features: [feature],
        });
      },
    );

    it("needs every feature of the job as well as its labels", async () => {
      // It is an option of a plan, too, so it needs two.
      const excluding = { engine: "opentofu", exclude: ["module.a"] };
      const all = Object.assign(excluding, ...uses.map(([, field]) => field));
      const job = await queueUse(all, { labels: ["gpu"] });
      // Only a job of a connection or with a cloud identity asks for these.
      const others: ReadonlySet<Feature> = new Set([
        "identity_aws_web_identity",
        "identity_azure",
        "identity_gcp",
        "identity_vault",
        "merge",
        "plan_digest",
        "source_access",
      ]);
      for (const missing of features.filter((one) => !others.has(one))) {
        await beat({ features: features.filter((one) => one !== missing), labels: ["gpu"] });
        expect(await claim(runner)).toBeNull();
      }
      await beat({ features, labels: [] });
      expect(await claim(runner)).toBeNull();
      expect(await waitsFor(job.id)).toBe("no_matching_worker");
      await beat({ features, labels: ["gpu"] });
      expect((await claim(runner))?.job.id).toBe(job.id);
    });

    it("returns the job while it waits, after an agent upgrade or a new label", async () => {
      const first = await queueUse({ submodules: true });
      const claimed = parked(runner);
      await pause(30);
      await beat({ features: ["submodules"] });
      expect((await claimed)?.job.id).toBe(first.id);
      const second = await queue({ labels: ["gpu"] });
      const again = parked(runner);
      await pause(30);
      await client.call("updateWorker", { params: { id: worker.id }, body: { labels: ["gpu"] } });
      expect((await again)?.job.id).toBe(second.id);
    });

    it("does not confuse labels with features", async () => {
      await queueUse({ submodules: true });
      for (const labels of [["+submodules"], ['"submodules"']])
        expect(await runner.refusal("heartbeat", { body: { version: "1.0.0", labels } })).toBe(
          "400 invalid_request",
        );
      expect(
        await runner.refusal("heartbeat", { body: { version: "1.0.0", features: ["+a"] } }),
      ).toBe("400 invalid_request");
      await beat({ labels: ["submodules", "a", "b"], features: ["a"] });
      await queue({ labels: ["a"] });
      expect(await claim(runner)).not.toBeNull();
      await queue({ labels: ["c"] });
      await beat({ labels: [], features: ["c"] });
      expect(await claim(runner)).toBeNull();
    });
  });

  it("returns an assigned job only to its worker", async () => {
    const other = await addTestWorker(plane, owner);
    const job = await queue({ assigned_worker_id: other.id });
    expect(await claim(runner)).toBeNull();
    expect((await claim(callsOf(plane, other.headers)))?.job.id).toBe(job.id);
    await setJob(plane, job as never, { status: "SUCCESS", released_at: 1 });
  });
});

describe("the queue", () => {
  it("counts what a runner could claim now, by labels, of the caller's space only", async () => {
    const { store } = plane.context;
    const { owner, client, runner } = await addTestUser(plane);
    const add = async (change: Partial<JobRow> = {}, of: Owner = owner) =>
      addJob(store, of, { spec_id: await addSpec(store, of), ...change });
    const counts = async (labels?: string) => {
      const query = labels === undefined ? {} : { labels };
      const { total, counts: found } = await client.call("countQueue", { query });
      return [total, Object.fromEntries(found.map((one) => [one.labels.join(), one.count]))];
    };
    expect(await counts()).toEqual([0, {}]);
    const first = await add();
    await add({ spec_id: first.spec_id });
    await add({ labels: '["gpu"]' });
    await add({ labels: '["gpu","eu"]', features: '["submodules"]' });
    await add({ labels: '["eu","gpu"]' });
    await add({ assigned_worker_id: (await addTestWorker(plane, owner)).id });
    await add({ job_type: "DEPLOY", unapproved: 1 });
    const locked = await add();
    const lock = { lock_id: "l", job_id: locked.id, info: "{}", created_at: 1 };
    await store.write((tx) => addLock(tx, { ...lock, spec_id: locked.spec_id ?? "" }));
    await add({}, (await addTestUser(plane)).owner);
    expect(await counts()).toEqual([4, { "": 1, gpu: 1, "gpu,eu": 2 }]);
    expect(await counts("gpu")).toEqual([2, { "": 1, gpu: 1 }]);
    expect(await counts("")).toEqual([1, { "": 1 }]);
    // The second job of the configuration waits for the first.
    await runner.call("claimJob");
    expect(await counts("")).toEqual([0, {}]);
    expect(await client.refusal("countQueue", { query: { labels: "a,,b" } })).toBe(
      "400 invalid_request",
    );
  });
});
