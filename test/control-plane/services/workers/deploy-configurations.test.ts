/**
 * What a worker was deployed with: who may set it, what is refused, and what a DESTROY_WORKER job
 * makes of it.
 */
import { beforeEach, describe, expect, it } from "vitest";
import type { DeployConfiguration } from "../../../../protocol/deploy-configurations.ts";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { addRunner, addTestUser } from "../../../helpers/people/user.ts";
import { addTestWorker, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addOwner, addSpec, type Owner } from "../../../helpers/plane/rows.ts";
import type { TestWorker } from "../../../helpers/plane/plane.ts";

const invalid = "400 invalid_request";
const source = { type: "git", url: "https://git.example.com/pools.git" } as const;

const { plane } = planeForFile();
let owner: Owner;
let target: TestWorker;
let spec: string;
let client: Calls;
beforeEach(async () => {
  ({ owner, client, worker: target } = await addTestUser(plane));
  spec = await addSpec(plane.context.store, owner);
});

const update = (body: object) => client.call("updateWorker", { params: target, body });
const set = (deploy_configuration: unknown) => update({ deploy_configuration });
const refusal = (deploy_configuration: unknown) =>
  client.refusal("updateWorker", { params: target, body: { deploy_configuration } as never });
const teardown = () => ({ job_type: "DESTROY_WORKER", assigned_worker_id: target.id }) as const;
const plantMetadata = (metadata: object) =>
  setRows(plane, "workers", { metadata: JSON.stringify(metadata) }, { id: target.id });

describe("an update of a worker", () => {
  it("changes only the given name and labels", async () => {
    expect(await update({ name: "new", labels: ["eu"] })).toMatchObject({
      name: "new",
      labels: ["eu"],
    });
    expect(await update({ labels: [] })).toMatchObject({ name: "new", labels: [] });
    expect(await update({})).toMatchObject({ name: "new", labels: [] });
    const unknown = { params: target, body: { metadata: {} } as never };
    expect(await client.refusal("updateWorker", unknown)).toBe("400 invalid_request");
  });

  it("sets what a teardown destroys, and without targets the response says that it is everything", async () => {
    const shown = async () => (await client.call("getWorker", { params: target })).metadata;
    await callsOf(plane, target.headers).call("updateWorkerMetadata", {
      params: target,
      body: { kept: 1 },
    });
    const some = { configuration_id: spec, targets: ["module.worker"] };
    expect((await set(some)).metadata).toEqual({ kept: 1, deploy_configuration: some });
    await set({ configuration_id: spec });
    const all = { configuration_id: spec, all: true };
    expect(await shown()).toEqual({ kept: 1, deploy_configuration: all });
    // The shown value can be sent back.
    expect((await set(all)).metadata).toEqual({ kept: 1, deploy_configuration: all });
    await set(null);
    expect(await shown()).toEqual({ kept: 1 });
  });

  it.each<[string, () => unknown, string]>([
    ["neither a configuration nor a snapshot", () => ({}), invalid],
    ["only targets", () => ({ targets: ["module.a"] }), invalid],
    ["both", () => ({ configuration_id: spec, snapshot: { source } }), invalid],
    ["an unknown configuration", () => ({ configuration_id: target.id }), "404 not_found"],
    ["an unknown field", () => ({ configuration_id: spec, more: 1 }), invalid],
    ["no targets", () => ({ configuration_id: spec, targets: [] }), invalid],
    [
      "targets and everything",
      () => ({ configuration_id: spec, targets: ["module.a"], all: true }),
      invalid,
    ],
    ["all set to false", () => ({ configuration_id: spec, all: false }), invalid],
    [
      "too many targets",
      () => ({ configuration_id: spec, targets: Array.from({ length: 101 }, (_, i) => `a.b${i}`) }),
      invalid,
    ],
    ["a snapshot without a source", () => ({ snapshot: {} }), invalid],
    ["a managed snapshot", () => ({ snapshot: { source, backend: "managed" } }), invalid],
    [
      "an environment that could run code",
      () => ({ snapshot: { source, environment: { LD_PRELOAD: "/tmp/x.so" } } }),
      "400 forbidden_environment_name",
    ],
    [
      "an archive that was not uploaded",
      () => ({ snapshot: { source: { type: "archive", sha256: "0".repeat(64) } } }),
      invalid,
    ],
    [
      "a secret without its value",
      () => ({ snapshot: { source, variables: { a: { sensitive: true } } } }),
      invalid,
    ],
    [
      "more than 64 KiB",
      () => ({ snapshot: { source, variables: { a: { value: "x".repeat(70_000) } } } }),
      "413 payload_too_large",
    ],
  ])("refuses a deploy configuration with %s", async (_, make, refused) => {
    expect(await refusal(make())).toBe(refused);
    expect((await client.call("getWorker", { params: target })).metadata).toEqual({});
  });

  it.each([
    "module.worker",
    "aws_instance.worker",
    'module.a[0].module.b["x.y"].aws_instance.worker["a\\"b"]',
    "data.aws_ami.image",
    "module.größe",
  ])("accepts the target %s", async (address) => {
    await set({ configuration_id: spec, targets: [address] });
  });

  it.each([
    "worker",
    "-destroy",
    "module.worker -auto-approve",
    "module.worker\n",
    "module.",
    "module.a.module",
    'a.b["x]',
    "a.b[-1]",
    `a.${"b".repeat(1024)}`,
    "module.a.".repeat(110),
  ])("refuses the target %j", async (address) => {
    expect(await refusal({ configuration_id: spec, targets: [address] })).toBe(
      "400 invalid_request",
    );
  });

  it("cannot refer to another owner's configuration, nor change another owner's or a cloud-hosted worker", async () => {
    const other = await addOwner(plane.context.store);
    const theirs = await addSpec(plane.context.store, other);
    expect(await refusal({ configuration_id: theirs })).toBe("404 not_found");
    for (const worker of [await addTestWorker(plane, other), await addTestWorker(plane, null)])
      expect(await client.refusal("updateWorker", { params: worker, body: { name: "x" } })).toBe(
        "404 not_found",
      );
  });

  it("never returns a secret of a snapshot, and keeps a secret that is sent back without its value", async () => {
    const secret = "the-secret-of-this-snapshot";
    const variables = { key: { value: secret, sensitive: true }, plain: { value: 1 } };
    const texts = { name: { value: secret, sensitive: true }, plain: "1" };
    const snapshot = { source, variables, environment: texts, backend_config: texts };
    const answer = await set({ snapshot, targets: ["module.a"] });
    expect(JSON.stringify(answer)).not.toContain(secret);
    expect(await plane.holds(secret)).toEqual([]);
    const runner = callsOf(plane, target.headers);
    const own = await runner.call("readWorker", { params: target });
    expect(JSON.stringify(own)).not.toContain(secret);
    // Sends the shown value back with other targets.
    const { deploy_configuration } = answer.metadata as {
      deploy_configuration: DeployConfiguration;
    };
    await set({ ...deploy_configuration, targets: ["module.b"] });
    await client.call("createJob", { body: teardown() });
    const other = await addRunner(plane, owner);
    await other.call("heartbeat", {
      body: { version: "1.0.0", features: ["backend_config"] },
    });
    expect((await other.call("claimJob")).job).toMatchObject({
      spec_id: null,
      zone_id: null,
      targets: ["module.b"],
      config_snapshot: {
        source,
        backend: "own",
        variables: { key: { value: secret } },
        environment: { name: secret, plain: "1" },
        backend_config: { name: secret, plain: "1" },
      },
    });
  });
});

describe("a DESTROY_WORKER job", () => {
  it("destroys everything without targets, and its snapshot says so", async () => {
    await set({ configuration_id: spec });
    const job = await client.call("createJob", { body: teardown() });
    expect(job.config_snapshot).toMatchObject({ all: true });
    const other = await addRunner(plane, owner);
    expect((await other.call("claimJob")).job).toMatchObject({ spec_id: spec, targets: [] });
  });

  it.each<[string, () => unknown]>([
    ["no deploy configuration", () => undefined],
    ["null", () => null],
    ["a text", () => "x"],
    ["a value that an older version stored unchecked", () => ({ configuration_id: spec })],
    ["a snapshot with an unknown field", () => ({ snapshot: { source, evil: 1 }, all: true })],
    ["a null snapshot", () => ({ snapshot: null, all: true })],
    ["a null variable", () => ({ snapshot: { source, variables: { a: null } }, all: true })],
    [
      "a secret that cannot be unsealed",
      () => ({
        snapshot: { source, variables: { a: { sensitive: true, sealed: "AAAA" } } },
        all: true,
      }),
    ],
    ["an option as target", () => ({ configuration_id: spec, targets: ["-lock=false"] })],
    ["an unknown configuration", () => ({ configuration_id: target.id, all: true })],
    [
      "a removed archive",
      () => ({ snapshot: { source: { type: "archive", sha256: "0".repeat(64) } }, all: true }),
    ],
  ])("is refused and drains nothing if the store holds %s", async (_, make) => {
    await plantMetadata({ deploy_configuration: make() });
    expect(await client.refusal("createJob", { body: teardown() })).toBe(
      "409 no_deploy_configuration",
    );
    expect(await client.call("getWorker", { params: target })).toMatchObject({ status: "ONLINE" });
  });

  it("cannot be retried if it would destroy something else now", async () => {
    await set({ configuration_id: spec, targets: ["module.worker"] });
    const job = await client.call("createJob", { body: teardown() });
    const other = await addRunner(plane, owner);
    await other.call("claimJob");
    await other.call("reportStatus", { params: job, body: { status: "FAILED" } });
    for (const changed of [{ configuration_id: spec }, { snapshot: { source } }]) {
      await set(changed);
      expect(await client.refusal("retryJob", { params: job })).toBe("409 job_not_retryable");
    }
    await set({ configuration_id: spec, targets: ["module.worker"] });
    expect(await client.call("retryJob", { params: job })).toMatchObject({ status: "QUEUED" });
  });

  it("tells the runner of every retry after an apply began that targets may be gone", async () => {
    const targets = ["module.worker"];
    await set({ configuration_id: spec, targets });
    const other = await addRunner(plane, owner);
    const fail = async (job: { id: string }, step: string) => {
      const claim = await other.call("claimJob");
      const log_chunk = "";
      const started = { name: step, event: "started", at: new Date().toISOString() } as const;
      await other.call("appendLogs", {
        params: job,
        body: { log_chunk, stream_type: "SYSTEM", seq: 1, step: started },
      });
      await other.call("reportStatus", { params: job, body: { status: "FAILED" } });
      return claim.job;
    };
    const first = await client.call("createJob", { body: teardown() });
    expect(await fail(first, "show")).not.toHaveProperty("resumes_teardown");
    const second = await client.call("retryJob", { params: first });
    expect(await fail(second, "apply")).not.toHaveProperty("resumes_teardown");
    const third = await client.call("retryJob", { params: second });
    expect(await fail(third, "init")).toMatchObject({ targets, resumes_teardown: true });
    const fourth = await client.call("retryJob", { params: third });
    expect(fourth.config_snapshot).toEqual(first.config_snapshot);
    expect(await fail(fourth, "init")).toMatchObject({ targets, resumes_teardown: true });
    const anew = await client.call("createJob", { body: teardown() });
    expect(await fail(anew, "init")).not.toHaveProperty("resumes_teardown");
  });
});
