import { beforeEach, describe, expect, it } from "vitest";
import { v7 } from "uuid";
import type { CreateConfiguration } from "../../../../protocol/configurations.ts";
import { type Calls } from "../../../helpers/plane/calls.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import { setJob, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import type { JobRow } from "../../../../control-plane/domain/job.ts";
import { addArtifact, addJob, type Owner } from "../../../helpers/plane/rows.ts";

const [invalid, forbidden] = ["400 invalid_request", "400 forbidden_environment_name"];
const unknownId = "01890000-0000-7000-8000-000000000000";
const source = { type: "inline", files: { "main.tf": "" } } as const;

const { plane } = planeForFile();
let owner: Owner;
let client: Calls;
let otherClient: Calls;
let runner: Calls;
beforeEach(async () => {
  ({ owner, client, runner } = await addTestUser(plane));
  ({ client: otherClient } = await addTestUser(plane));
});
const configure = (change: Partial<CreateConfiguration> = {}) =>
  client.call("createConfiguration", {
    body: { name: "c", zone_id: owner.zone, source, ...change },
  });

describe("a zone", () => {
  it("is created once per name, and lists its configurations", async () => {
    const zone = await client.call("createZone", { body: { name: "Zürich 🏔" } });
    expect(await client.refusal("createZone", { body: { name: "Zürich 🏔" } })).toBe(
      "409 name_taken",
    );
    await otherClient.call("createZone", { body: { name: "Zürich 🏔" } });
    const spec = await configure({ zone_id: zone.id });
    expect(await client.call("getZone", { params: zone })).toEqual({ ...zone, specs: [spec] });
    const { zones } = await client.call("listZones");
    expect(zones.map(({ name, specs }) => [name, specs.length])).toEqual([
      ["Zürich 🏔", 1],
      ["zone", 0],
    ]);
    expect(await otherClient.refusal("getZone", { params: zone })).toBe("404 not_found");
  });
});

describe("a configuration", () => {
  it("is found by name, id and project name, by its owner only", async () => {
    const spec = await configure({ name: "a/b c", project_name: "p?q" });
    expect(spec).toMatchObject({
      status: "NEW",
      engine: "terraform",
      components: [],
    });
    for (const name of ["a/b c", spec.id]) {
      expect(await client.call("getConfiguration", { params: { name } })).toEqual(spec);
      expect(await otherClient.refusal("getConfiguration", { params: { name } })).toBe(
        "404 not_found",
      );
    }
    const byProject = { params: { project_name: "p?q" } };
    expect(await client.call("getConfigurationByProjectName", byProject)).toEqual(spec);
    expect(await otherClient.refusal("getConfigurationByProjectName", byProject)).toBe(
      "404 not_found",
    );
    expect((await client.call("listConfigurations")).configurations).toEqual([spec]);
  });

  it("is refused if its name or project name is taken", async () => {
    await configure({ name: "one", project_name: "p" });
    const refusal = (change: object) =>
      client.refusal("createConfiguration", {
        body: { name: "two", zone_id: owner.zone, source, ...change },
      });
    expect(await refusal({ name: "one" })).toBe("409 name_taken");
    expect(await refusal({ project_name: "p" })).toBe("409 name_taken");
    expect(await refusal({ name: "p" })).toBe("409 name_taken");
  });

  it("returns sensitive values only to the runner that holds the job", async () => {
    const value = "S3NSITIVE-hunter2";
    const spec = await configure({
      variables: { password: { value, sensitive: true }, size: { value: 3 } },
      environment: {
        REGION: "eu",
        API_TOKEN: value,
        KEY_OF_MAP: { value, sensitive: true },
        PUBLIC_KEY: { value: "shown", sensitive: false },
      },
      backend_config: { bucket: "b", key: "path", password: value },
    });
    const environment = {
      REGION: "eu",
      API_TOKEN: { sensitive: true },
      KEY_OF_MAP: { sensitive: true },
      PUBLIC_KEY: { value: "shown", sensitive: false },
    };
    expect(spec).toMatchObject({
      environment,
      backend_config: { bucket: "b", key: "path", password: { sensitive: true } },
    });
    expect(spec.variables).toEqual({ password: { sensitive: true }, size: { value: 3 } });
    const job = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec.id },
    });
    expect(job.config_snapshot?.variables).toEqual(spec.variables);
    await runner.call("heartbeat", {
      body: { version: "1.0.0", features: ["backend_config"] },
    });
    const claimed = await runner.call("claimJob");
    expect(claimed.job.config_snapshot.variables).toEqual({
      password: { value, sensitive: true },
      size: { value: 3 },
    });
    expect(claimed.job.config_snapshot).toMatchObject({
      environment: { REGION: "eu", API_TOKEN: value, KEY_OF_MAP: value, PUBLIC_KEY: "shown" },
      sensitive_environment: ["API_TOKEN", "KEY_OF_MAP"],
      backend_config: { bucket: "b", key: "path", password: value },
      sensitive_backend_config: ["password"],
    });
    expect(job.config_snapshot).toMatchObject({ environment });
    expect(await plane.holds(value)).toEqual([]);
  });

  it.each<[string, object, string]>([
    ["no source", { source: undefined }, invalid],
    ["an unknown source", { source: { type: "ftp" } }, invalid],
    ["an empty source", { source: { type: "inline", files: {} } }, invalid],
    [
      "an archive that does not exist",
      { source: { type: "archive", sha256: "a".repeat(64) } },
      invalid,
    ],
    ["an unknown field", { colour: "red" }, invalid],
    ["an unknown engine", { engine: "pulumi" }, invalid],
    ["a variable without a value", { variables: { a: {} } }, invalid],
    ["a variable with a wrong name", { variables: { "a b": { value: 1 } } }, invalid],
    ["a timeout of 0", { timeout_seconds: 0 }, invalid],
    ["an unknown zone", { zone_id: unknownId }, "404 not_found"],
    ["a malformed zone id", { zone_id: "zone" }, invalid],
    ["PATH", { environment: { PATH: "/evil" } }, forbidden],
    ["LD_PRELOAD", { environment: { LD_PRELOAD: "x" } }, forbidden],
    ["TF_CLI_ARGS_plan", { environment: { TF_CLI_ARGS_plan: "-out=x" } }, forbidden],
    ["AWS_PROFILE", { environment: { AWS_PROFILE: "x" } }, forbidden],
  ])("is refused with %s", async (_, change, refusal) => {
    const body = { name: "c", zone_id: owner.zone, source, ...change } as CreateConfiguration;
    expect(await client.refusal("createConfiguration", { body })).toBe(refusal);
    expect((await client.call("listConfigurations")).configurations).toEqual([]);
  });
});

describe("a job", () => {
  it("is queued with the fields of its configuration and a waiting reason, until it is cancelled", async () => {
    const spec = await configure({ labels: ["gpu"], timeout_seconds: 60 });
    const job = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec.id },
    });
    expect(job).toMatchObject({
      status: "QUEUED",
      configuration_id: spec.id,
      configuration_name: "c",
      spec_id: spec.id,
      zone_id: owner.zone,
      labels: ["gpu"],
      timeout_seconds: 60,
      attempt: 0,
      waiting_reason: "no_matching_worker",
      waiting_details: { labels: ["gpu"], workers: [], more_workers: false, job_id: null },
      config_snapshot: { name: "c", source },
    });
    expect(await client.call("getJob", { params: job })).toEqual(job);
    const cancelled = await client.call("cancelJob", { params: job });
    expect(cancelled).toMatchObject({ status: "CANCELLED", waiting_reason: null });
    expect(cancelled.released_at).not.toBeNull();
    expect(await client.refusal("cancelJob", { params: job })).toBe("409 job_ended");
  });

  it("keeps the name that its configuration had when it was created", async () => {
    const spec = await configure({ name: "before" });
    await client.call("createJob", { body: { job_type: "PLAN", configuration_id: spec.id } });
    await client.call("updateConfiguration", {
      params: { name: spec.id },
      body: { name: "after" },
    });
    const { jobs } = await client.call("listJobs");
    expect(jobs.map(({ configuration_name }) => configuration_name)).toEqual(["before"]);
  });

  it.each<[string, object, string]>([
    ["no type", { job_type: undefined }, invalid],
    ["an unknown type", { job_type: "APPLY" }, invalid],
    ["no configuration", { configuration_id: undefined }, invalid],
    ["an unknown configuration", { configuration_id: unknownId }, "404 not_found"],
    ["an unknown worker", { assigned_worker_id: unknownId }, "404 not_found"],
    ["a plan_job_id on a PLAN", { plan_job_id: unknownId }, invalid],
    ["an unknown field", { force: true }, invalid],
  ])("is refused with %s", async (_, change, refusal) => {
    const spec = await configure();
    const body = { job_type: "PLAN", configuration_id: spec.id, ...change } as never;
    expect(await client.refusal("createJob", { body })).toBe(refusal);
    expect((await client.call("listJobs")).jobs).toEqual([]);
  });

  it("deploys a plan once, and only while the configuration is unchanged", async () => {
    const spec = await configure();
    const other = await configure({ name: "other" });
    const plan = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec.id },
    });
    const deploy = (change = {}) =>
      ({
        body: { job_type: "DEPLOY", configuration_id: spec.id, plan_job_id: plan.id, ...change },
      }) as const;
    expect(await client.refusal("createJob", deploy())).toBe("400 invalid_plan");
    await runner.call("claimJob");
    const worker = await runner.ask("heartbeat", { body: { version: "1" } });
    expect(worker).not.toBeNull();
    await runner.call("reportStatus", { params: plan, body: { status: "SUCCESS" } });
    // A PLAN without an artifact cannot be deployed.
    expect(await client.refusal("createJob", deploy())).toBe("400 invalid_plan");
    await addArtifact(plane.context.store, plan.id);
    expect(await client.refusal("createJob", deploy({ configuration_id: other.id }))).toBe(
      "400 invalid_plan",
    );
    expect(await otherClient.refusal("createJob", deploy())).toBe("404 not_found");
    const first = await client.call("createJob", deploy());
    expect(await client.refusal("createJob", deploy())).toBe("409 plan_already_used");
    // A DEPLOY that was cancelled before its start has not used the plan.
    await client.call("cancelJob", { params: first });
    const definition = JSON.stringify({ source, engine: "terraform" });
    await setRows(plane, "specs", { definition }, { id: spec.id });
    expect(await client.refusal("createJob", deploy())).toBe("409 plan_is_stale");
    await expect(client.call("createJob", deploy())).rejects.toThrow("was changed after the plan");
  });

  it("is listed newest first, filtered by status and zone, whole or in pages", async () => {
    const jobs = [];
    for (let count = 0; count < 7; count += 1) jobs.push(await addJob(plane.context.store, owner));
    await setJob(plane, jobs[3]!, { status: "FAILED", released_at: 1, ended_at: 1 });
    const newestFirst = jobs.map(({ id }) => id).toReversed();
    const list = async (query: object) => {
      const page = await client.call("listJobs", { query });
      return { ids: page.jobs.map(({ id }) => id), next: page.next_cursor };
    };
    expect(await list({})).toEqual({ ids: newestFirst, next: null });
    expect((await list({ status: "FAILED" })).ids).toEqual([jobs[3]!.id]);
    expect((await list({ zone_id: owner.zone })).ids).toHaveLength(7);
    expect((await list({ zone_id: unknownId })).ids).toEqual([]);
    const first = await list({ limit: 4 });
    expect(first.ids).toEqual(newestFirst.slice(0, 4));
    expect(await list({ limit: 4, cursor: first.next! })).toEqual({
      ids: newestFirst.slice(4),
      next: null,
    });
    expect((await otherClient.call("listJobs")).jobs).toEqual([]);
    for (const query of [{ limit: "0" }, { limit: "1001" }, { status: "DONE" }, { zone_id: "x" }])
      expect(await client.refusal("listJobs", { query: query as never })).toBe(
        "400 invalid_request",
      );
    expect(await client.refusal("listJobs", { query: { cursor: "x" } })).toBe("400 invalid_cursor");
  });

  it("is listed in the zone that its configuration was in", async () => {
    const spec = await configure();
    const plan = () =>
      client.call("createJob", { body: { job_type: "PLAN", configuration_id: spec.id } });
    const before = await plan();
    await client.call("cancelJob", { params: before });
    const { id: zone_id } = await client.call("createZone", { body: { name: "other" } });
    await client.call("updateConfiguration", { params: { name: "c" }, body: { zone_id } });
    const after = await plan();
    for (const [zone, job] of [
      [owner.zone, before],
      [zone_id, after],
    ] as const) {
      const { jobs } = await client.call("listJobs", { query: { zone_id: zone } });
      expect(jobs.map(({ id }) => id)).toEqual([job.id]);
    }
  });

  it("is listed from a time on and before another", async () => {
    const { store } = plane.context;
    const noon = Date.parse("2026-01-31T12:00:00Z");
    const [first, second, third] = [noon - 1, noon, noon + 1].map((msecs) => ({
      id: v7({ msecs }),
      created_at: msecs,
    }));
    for (const one of [first, second, third]) await addJob(store, owner, one);
    const list = async (query: object) =>
      (await client.call("listJobs", { query })).jobs.map(({ id }) => id);
    const at = "2026-01-31T12:00:00Z";
    expect(await list({ since: at })).toEqual([third?.id, second?.id]);
    expect(await list({ until: at })).toEqual([first?.id]);
    expect(await list({ since: at, until: "2026-01-31T13:00:00.001+01:00" })).toEqual([second?.id]);
    for (const since of ["2026-01-31", "2026-01-31T23:59:60Z", "yesterday"])
      expect(await client.refusal("listJobs", { query: { since } })).toBe("400 invalid_request");
  });

  it("is listed by configuration, type, status, creator and the beginning of its id", async () => {
    const { store } = plane.context;
    const [one, other] = [await configure({ name: "one" }), await configure({ name: "two" })];
    const created_by = `${owner.id}@example.com`;
    const add = (change: Partial<JobRow>) => addJob(store, owner, { created_by, ...change });
    const plan = await add({ spec_id: one.id });
    const deploy = await add({ spec_id: one.id, job_type: "DEPLOY" });
    const others = await add({ spec_id: other.id, created_by: null });
    const list = async (query: object) =>
      (await client.call("listJobs", { query })).jobs.map(({ id }) => id);
    expect(await list({ configuration: one.id.toUpperCase() })).toEqual([deploy.id, plan.id]);
    expect(await list({ configuration: "two" })).toEqual([others.id]);
    expect(await list({ configuration: "one", job_type: "PLAN" })).toEqual([plan.id]);
    expect(await list({ job_type: "PLAN" })).toEqual([others.id, plan.id]);
    expect(await list({ job_type: "DEPLOY", zone_id: owner.zone })).toEqual([deploy.id]);
    expect(await list({ status: "QUEUED", configuration: "one", mine: true, limit: 1 })).toEqual([
      deploy.id,
    ]);
    expect(await list({ status: "FAILED", configuration: "one" })).toEqual([]);
    expect(await list({ mine: true })).toEqual([deploy.id, plan.id]);
    expect(await list({ mine: false, limit: 1 })).toEqual([others.id]);
    expect(await list({ id_prefix: plan.id.slice(0, 35) })).toContain(plan.id);
    expect(await list({ id_prefix: plan.id.toUpperCase() })).toEqual([plan.id]);
    expect(await list({ id_prefix: unknownId.slice(0, 13) })).toEqual([]);
    expect((await otherClient.call("listJobs", { query: { id_prefix: plan.id } })).jobs).toEqual(
      [],
    );
    for (const query of [{ id_prefix: "012" }, { id_prefix: "01%" }, { job_type: "APPLY" }])
      expect(await client.refusal("listJobs", { query: query as never })).toBe(
        "400 invalid_request",
      );
    for (const configuration of ["three", unknownId])
      expect(await client.refusal("listJobs", { query: { configuration } })).toBe("404 not_found");
    expect(await otherClient.refusal("listJobs", { query: { configuration: "one" } })).toBe(
      "404 not_found",
    );
  });

  it("is listed with all 450 others when no limit is given", async () => {
    await Promise.all(Array.from({ length: 450 }, () => addJob(plane.context.store, owner)));
    const { jobs } = await client.call("listJobs");
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(450);
  });
});
