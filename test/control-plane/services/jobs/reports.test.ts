import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import type { Input } from "../../../../protocol/transport.ts";
import { lose } from "../../../../control-plane/domain/job.ts";
import { changeJob, writeJobs } from "../../../../control-plane/services/job-changes/changes.ts";
import { findJob } from "../../../../control-plane/store/jobs/jobs.ts";
import { addLock, findLock } from "../../../../control-plane/store/states/states.ts";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { addRunner, addTestUser } from "../../../helpers/people/user.ts";
import { addTestWorker, ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addSpec, type Owner } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();
let owner: Owner;
let runner: Calls;
let client: Calls;
let headers: Record<string, string>;
let spec: string;
beforeEach(async () => {
  ({ owner, headers, client, runner } = await addTestUser(plane));
  spec = await addSpec(plane.context.store, owner);
});

/** Queues a job and claims it. Returns its path parameters. */
async function held(job_type: "PLAN" | "DEPLOY" | "DESTROY" = "PLAN") {
  const { id } = await client.call("createJob", { body: { job_type, configuration_id: spec } });
  await runner.call("claimJob");
  return { id };
}
const report = (params: { id: string }, body: Input<"reportStatus">["body"]) =>
  runner.call("reportStatus", { params, body });
/** Locks the state as the job's terraform does. */
const lockAs = (id: string) =>
  plane.context.store.write((tx) =>
    addLock(tx, { spec_id: spec, lock_id: "l", job_id: id, info: "{}", created_at: Date.now() }),
  );
/** Declares the job's worker lost while its terraform holds the state lock. */
async function loseWithLock(id: string) {
  const now = Date.now();
  await lockAs(id);
  await writeJobs(plane.context, async (tx, wakeups) => {
    const job = (await tx.first(findJob, { id }))!;
    await changeJob(tx, wakeups, job, lose(job, now), now, { keepLock: true });
  });
  expect(await lockOf()).toMatchObject({ job_id: id });
}
const lockOf = () => plane.context.store.read.first(findLock, { spec });
const specStatus = async () =>
  (await client.call("getConfiguration", { params: { name: spec } })).status;

describe("a status report", () => {
  it("of PROCESSING starts the job and sets the configuration's status", async () => {
    const job = await held("DEPLOY");
    expect(await specStatus()).toBe("NEW");
    const started = await report(job, { status: "PROCESSING" });
    expect(started.started_at).not.toBeNull();
    expect(await specStatus()).toBe("DEPLOYING");
    expect(await report(job, { status: "PROCESSING" })).toEqual(started);
  });

  it("of SUCCESS copies the outputs of a DEPLOY to the configuration, and a DESTROY clears them", async () => {
    const job = await held("DEPLOY");
    await report(job, {
      status: "SUCCESS",
      execution_metadata: {
        cluster_name: "c",
        cluster_endpoint: "https://c.example.test",
        gitops_url: "https://git.example.test/c",
        outputs: {
          cluster_name: { type: "string", value: "c", sensitive: false },
          token: { type: "string", value: "never kept", sensitive: true },
          bare: 5,
        },
      },
    });
    const after = await client.call("getConfiguration", { params: { name: spec } });
    expect(after).toMatchObject({
      status: "DEPLOYED",
      cluster_name: "c",
      cluster_endpoint: "https://c.example.test",
      gitops_url: "https://git.example.test/c",
    });
    expect(after.components).toEqual([
      { name: "bare", type: "number", value: 5, sensitive: false },
      { name: "cluster_name", type: "string", value: "c", sensitive: false },
      { name: "token", type: "string", sensitive: true },
    ]);
    await report(await held("DESTROY"), { status: "SUCCESS" });
    expect(await client.call("getConfiguration", { params: { name: spec } })).toMatchObject({
      status: "DESTROYED",
      cluster_name: null,
      components: [],
    });
  });

  it("keeps the size of an output that is too large to be kept", async () => {
    const job = await held("DEPLOY");
    const large = { type: "string", sensitive: false, omitted_bytes: 268_891 };
    const outputs = {
      large,
      odd: { ...large, omitted_bytes: "x" },
      secret: { ...large, sensitive: true },
    };
    const { execution_metadata } = await report(job, {
      status: "SUCCESS",
      execution_metadata: { outputs },
    });
    expect(execution_metadata?.outputs?.["large"]).toEqual(large);
    expect((await client.call("getConfiguration", { params: { name: spec } })).components).toEqual([
      { name: "large", ...large },
      { name: "odd", type: "string", sensitive: false },
      { name: "secret", type: "string", sensitive: true },
    ]);
  });

  it.each([
    [12, 12],
    [0, undefined],
    [-1, undefined],
    ["12", undefined],
  ])("that leaves out %j outputs says so in the job and the configuration", async (sent, kept) => {
    const outputs = { a: { type: "string", sensitive: false, value: "x" } };
    const { execution_metadata } = await report(await held("DEPLOY"), {
      status: "SUCCESS",
      execution_metadata: { outputs, outputs_omitted: sent as number },
    });
    expect(execution_metadata?.outputs_omitted).toBe(kept);
    const found = await client.call("getConfiguration", { params: { name: spec } });
    expect(found.outputs_omitted).toBe(kept);
  });

  it("with more than 1,000 outputs keeps 1,000 and counts the others", async () => {
    const names = Array.from({ length: 1005 }, (_, index) => `o${index}`);
    const outputs = Object.fromEntries(names.map((name) => [name, name]));
    const { execution_metadata } = await report(await held("DEPLOY"), {
      status: "SUCCESS",
      execution_metadata: { outputs, outputs_omitted: 7 },
    });
    expect(Object.keys(execution_metadata?.outputs ?? {})).toHaveLength(1000);
    expect(execution_metadata?.outputs_omitted).toBe(12);
    await report(await held("DESTROY"), { status: "SUCCESS" });
    const found = await client.call("getConfiguration", { params: { name: spec } });
    expect(found).not.toHaveProperty("outputs_omitted");
  });

  it("of FAILED copies its message to the configuration", async () => {
    const job = await held("PLAN");
    const ended = await report(job, { status: "FAILED", error_message: "Error: no such region" });
    expect(ended).toMatchObject({ status: "FAILED", error_message: "Error: no such region" });
    expect(await client.call("getConfiguration", { params: { name: spec } })).toMatchObject({
      status: "FAILED",
      error_message: "Error: no such region",
    });
  });

  it("of CANCELLED restores the configuration's former status", async () => {
    const job = await held("DEPLOY");
    await report(job, { status: "PROCESSING" });
    await report(job, { status: "CANCELLED" });
    expect(await specStatus()).toBe("NEW");
  });

  it("that is repeated changes nothing", async () => {
    const job = await held();
    const body = { status: "SUCCESS", last_seq: 0 } as const;
    const first = await report(job, body);
    await pause(5);
    expect(await report(job, body)).toEqual(first);
  });

  it("of CANCELLED after a cancel says when the job ended", async () => {
    const job = await held("DEPLOY");
    await report(job, { status: "PROCESSING" });
    const { ended_at } = await client.call("cancelJob", { params: job });
    await pause(5);
    const ended = await report(job, { status: "CANCELLED" });
    expect(Date.parse(ended.ended_at!)).toBeGreaterThan(Date.parse(ended_at!));
    expect(ended.released_at).toBe(ended.ended_at);
  });

  it("of SUCCESS after a cancel is recorded as SUCCESS", async () => {
    const job = await held("DEPLOY");
    await report(job, { status: "PROCESSING" });
    const cancelled = await client.call("cancelJob", { params: job });
    expect(cancelled).toMatchObject({ status: "CANCELLED", released_at: null });
    expect(
      await runner.refusal("reportStatus", { params: job, body: { status: "PROCESSING" } }),
    ).toBe("409 job_ended");
    expect(await report(job, { status: "SUCCESS" })).toMatchObject({ status: "SUCCESS" });
    expect(await specStatus()).toBe("DEPLOYED");
  });

  it("updates the configuration even if a job created later has run before", async () => {
    const other = await addTestWorker(plane, owner);
    const request = { job_type: "DEPLOY", configuration_id: spec } as const;
    const waiting = await client.call("createJob", {
      body: { ...request, assigned_worker_id: other.id },
    });
    await report(await held("DEPLOY"), { status: "SUCCESS" });
    await pause(2);
    const late = callsOf(plane, other.headers);
    expect((await late.call("claimJob")).job.id).toBe(waiting.id);
    await late.call("reportStatus", { params: waiting, body: { status: "PROCESSING" } });
    expect(await specStatus()).toBe("DEPLOYING");
    await late.call("reportStatus", { params: waiting, body: { status: "SUCCESS" } });
    expect(await specStatus()).toBe("DEPLOYED");
  });

  it("of FAILED after a presumed loss replaces the presumed message and ends the state lock", async () => {
    const job = await held("DEPLOY");
    await report(job, { status: "PROCESSING" });
    await loseWithLock(job.id);
    const ended = await report(job, { status: "FAILED", error_message: "no such region" });
    expect(ended.error_message).toBe("no such region");
    expect(await client.call("getConfiguration", { params: { name: spec } })).toMatchObject({
      status: "FAILED",
      error_message: "no such region",
    });
    expect(await lockOf()).toBeUndefined();
  });

  it.each(["FAILED", "CANCELLED"] as const)(
    "of %s without a message ends the state lock of a lost job",
    async (status) => {
      const job = await held("DEPLOY");
      await report(job, { status: "PROCESSING" });
      if (status === "CANCELLED") await client.call("cancelJob", { params: job });
      await loseWithLock(job.id);
      expect(await report(job, { status })).toMatchObject({ status, error_message: null });
      expect(await lockOf()).toBeUndefined();
      await report(job, { status });
    },
  );

  it("with an unknown outcome keeps the state locked, before and after a presumed loss", async () => {
    for (const isLost of [false, true]) {
      const job = await held("DEPLOY");
      await report(job, { status: "PROCESSING" });
      if (isLost) await loseWithLock(job.id);
      else await lockAs(job.id);
      const end = { status: "FAILED", error_message: "restarted", outcome_unknown: true } as const;
      for (const _ of ["told", "repeated"]) {
        expect(await report(job, end)).toMatchObject({
          status: "FAILED",
          error_message: "restarted",
        });
        expect(await lockOf()).toMatchObject({ job_id: job.id });
      }
      await client.call("breakStateLock", { params: { name: spec } });
      expect(await lockOf()).toBeUndefined();
    }
  });

  it("with an unknown outcome locks a state that terraform has unlocked, except after a PLAN", async () => {
    for (const job_type of ["PLAN", "DEPLOY", "DESTROY"] as const) {
      const job = await held(job_type);
      await report(job, { status: "PROCESSING" });
      const end = { status: "CANCELLED", outcome_unknown: true } as const;
      expect(await report(job, end)).toMatchObject({ outcome_unknown: true });
      if (job_type === "PLAN") {
        expect(await lockOf()).toBeUndefined();
        continue;
      }
      expect(await specStatus()).toBe("FAILED");
      const next = await client.call("createJob", { body: { job_type, configuration_id: spec } });
      const waiting = await client.call("getJob", { params: next });
      expect(waiting.waiting_reason).toBe("state_locked");
      await client.call("breakStateLock", { params: { name: spec } });
      await report(job, end);
      expect(await lockOf()).toBeUndefined();
      await client.call("cancelJob", { params: next });
    }
  });

  it("after a presumed loss clears presumed_lost_at and outcome_unknown", async () => {
    const job = await held("DEPLOY");
    await report(job, { status: "PROCESSING" });
    await loseWithLock(job.id);
    const read = () => client.call("getJob", { params: job });
    expect(await read()).toMatchObject({
      presumed_lost_at: expect.any(String),
      outcome_unknown: true,
    });
    // The message of a presumed loss, reported by the runner itself.
    await report(job, { status: "FAILED", error_message: "runner lost, outcome unknown" });
    expect(await read()).toMatchObject({ presumed_lost_at: null, outcome_unknown: false });
    expect(await lockOf()).toBeUndefined();
  });

  it("is accepted only from the job's holder and its current attempt", async () => {
    const job = await held();
    const other = await addRunner(plane, owner);
    const { runner: otherRunner } = await addTestUser(plane);
    const input = { params: job, body: { status: "SUCCESS" } } as const;
    expect(await other.refusal("reportStatus", input)).toBe("409 not_job_holder");
    expect(await otherRunner.refusal("reportStatus", input)).toBe("404 not_found");
    const attempt = (value: string) => ({ headers: { "x-job-attempt": value } });
    expect(await runner.refusal("reportStatus", input, attempt("2"))).toBe("409 not_job_holder");
    expect(await runner.refusal("reportStatus", input, attempt("x"))).toBe("400 invalid_request");
    expect(await runner.call("reportStatus", input, attempt("1"))).toMatchObject({
      status: "SUCCESS",
    });
  });

  it.each([
    [{}, "400 invalid_request"],
    [{ status: "QUEUED" }, "400 invalid_request"],
    [{ status: 1 }, "400 invalid_request"],
  ])("with the body %j is refused and keeps the job PROCESSING", async (body, refusal) => {
    const job = await held();
    expect(await runner.refusal("reportStatus", { params: job, body: body as never })).toBe(
      refusal,
    );
    expect(await client.call("getJob", { params: job })).toMatchObject({ status: "PROCESSING" });
  });

  it.each<[string, object, object]>([
    [
      "a null cluster name",
      { execution_metadata: { cluster_name: null, outputs: {} } },
      { outputs: {} },
    ],
    [
      "a cluster name that is too long",
      { execution_metadata: { cluster_name: "x".repeat(5000), gitops_url: "https://x" } },
      { gitops_url: "https://x" },
    ],
    [
      "outputs that are not an object",
      { execution_metadata: { cluster_name: "c", outputs: [1] } },
      { cluster_name: "c" },
    ],
    [
      "warnings that are not valid",
      { execution_metadata: { cluster_name: "c", warnings: [{ summary: 1 }] } },
      { cluster_name: "c" },
    ],
    [
      "warnings",
      { execution_metadata: { warnings: [{ summary: "s", file: "a.tf", line: 1 }] } },
      { warnings: [{ summary: "s", file: "a.tf", line: 1 }] },
    ],
    [
      "values made known that are not valid",
      { execution_metadata: { cluster_name: "c", made_known: { resources: [{ address: 1 }] } } },
      { cluster_name: "c" },
    ],
    ["metadata that is not an object", { execution_metadata: "x" }, {}],
    [
      "an error message that is not a text",
      { error_message: { text: "x" }, outcome_unknown: "yes" },
      {},
    ],
    ["negative counts", { last_seq: -1, plan_summary: [] }, {}],
    ["an enormous count", { last_seq: 1e300, plan_summary: { counts: {} } }, {}],
    [
      "more outputs than are stored",
      {
        execution_metadata: {
          outputs: Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`o${n}`, n])),
        },
      },
      {
        outputs: Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`o${n}`, n])),
        outputs_omitted: 500,
      },
    ],
    [
      "more values than are read",
      {
        execution_metadata: { outputs: { a: Array.from({ length: 110_000 }, () => 1) } },
        last_seq: 0,
      },
      {},
    ],
  ])("of SUCCESS is recorded even with %s", async (_, rest, kept) => {
    const job = await held("DEPLOY");
    const body = { status: "SUCCESS", ...rest } as never;
    const ended = await report(job, body);
    expect(ended).toMatchObject({ status: "SUCCESS", error_message: null });
    expect(ended.execution_metadata ?? {}).toEqual(kept);
    expect(await client.call("getConfiguration", { params: { name: spec } })).toMatchObject({
      status: "DEPLOYED",
    });
  });

  it("truncates an error message above 8 KiB", async () => {
    const message = `${"x".repeat(8190)}😀${"y".repeat(100)}`;
    const ended = await report(await held(), { status: "FAILED", error_message: message });
    expect(ended.error_message).toBe(`${"x".repeat(8190)}\ufffd…`);
  });

  it("keeps the failure, also of a kind that only a newer agent knows", async () => {
    const error_message = "plan failed (exit code 1): no region";
    for (const kind of ["missing_variables", "invented_later"]) {
      const job = await held();
      const failure = { kind, summary: "plan failed (exit code 1)", variables: ["region"] };
      const more = { ...failure, invented_later: 1 };
      const end = { status: "FAILED", error_message, failure: more } as const;
      expect((await report(job, end)).failure).toEqual(failure);
      // A later report without a message does not take the reason away.
      expect((await report(job, { status: "FAILED" })).failure).toEqual(failure);
      expect(await report(job, { status: "FAILED", error_message: "x" })).toMatchObject({
        error_message: "x",
        failure: null,
      });
    }
  });

  it.each([["text"], [{ kind: "NO" }], [{ kind: "command", variables: "x" }], [{}]])(
    "is recorded even with the failure %j",
    async (failure) => {
      const end = { status: "FAILED", error_message: "x", failure } as never;
      expect(await report(await held(), end)).toMatchObject({ error_message: "x", failure: null });
    },
  );

  it("accepts unknown fields of a newer agent", async () => {
    const job = await held();
    const body = { status: "SUCCESS", invented_later: { a: 1 } } as never;
    expect(await report(job, body)).toMatchObject({ status: "SUCCESS" });
  });
});

describe("a job that could not save its state", () => {
  const unsaved = { status: "FAILED", state_unsaved: true } as const;
  const lock = async () =>
    (await client.call("getStateLock", { params: { name: spec } })).state_lock;
  const next = async () => {
    const { id } = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec },
    });
    return client.call("getJob", { params: { id } });
  };

  it("locks the configuration, also where the control plane keeps no state", async () => {
    const job = await held("DEPLOY");
    await report(job, { status: "PROCESSING" });
    expect(await report(job, unsaved)).toMatchObject({ status: "FAILED", outcome_unknown: false });
    expect(await lock()).toMatchObject({ job_id: job.id, held: false, state_unsaved: true });
    expect(await next()).toMatchObject({
      waiting_reason: "state_locked",
      waiting_details: { job_id: job.id },
    });
    expect(await runner.ask("claimJob")).toBeNull();
    await client.call("breakStateLock", { params: { name: spec } });
    await report(job, unsaved);
    expect(await lock()).toBeNull();
    expect(await runner.ask("claimJob")).not.toBeNull();
  });

  it("is replaced by a lock of its own, which the push of a state removes", async () => {
    const job = await held("DEPLOY");
    await report(job, { status: "PROCESSING" });
    await lockAs(job.id);
    await report(job, unsaved);
    expect(await lock()).toMatchObject({ job_id: job.id, state_unsaved: true });
    const resource = { mode: "managed", type: "terraform_data", name: "a", instances: [{}] };
    const state = { version: 4, serial: 7, lineage: "l", outputs: {}, resources: [resource] };
    const path = `/api/cli/configurations/${spec}/state/versions`;
    const push = async () =>
      (await ask(plane, "POST", path, { headers, body: JSON.stringify(state) })).status;
    expect(await push()).toBe(201);
    expect(await lock()).toBeNull();
    expect(await next()).toMatchObject({ waiting_reason: "waiting_for_worker" });

    // The server may have the state, although terraform did not get the response.
    const other = (await runner.call("claimJob")).job;
    await report(other, { status: "PROCESSING" });
    await report(other, unsaved);
    expect(await lock()).toMatchObject({ state_unsaved: true });
    expect(await push()).toBe(200);
    expect(await lock()).toBeNull();
  });
});
