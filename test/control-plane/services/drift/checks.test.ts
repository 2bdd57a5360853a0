/** Drift checks over HTTP, with a runner that reports what a test wants. */
import { describe, expect } from "vitest";
import { features } from "../../../../protocol/features.ts";
import type { CreateJob } from "../../../../protocol/jobs.ts";
import type { PlanSummary } from "../../../../protocol/plan-summary.ts";
import { readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { addArtifact } from "../../../helpers/plane/rows.ts";

const { plane, it: base } = planeForFile();

const commit = "0123456789abcdef0123456789abcdef01234567";
const drifted = {
  ...emptySummary,
  drift: [
    {
      address: "local_file.motd",
      action: "update" as const,
      attributes: [{ path: "content", before: "hello", after: "edited" }],
    },
    { address: "local_file.moved", action: "none" as const },
  ],
  drift_omitted: 1,
} satisfies PlanSummary;

interface End {
  readonly status?: "SUCCESS" | "FAILED";
  readonly plan_summary?: PlanSummary;
  readonly execution_metadata?: object;
}

const it = base
  .extend("git", async ({ client, spec }) => {
    const source = { type: "git", url: "https://git.example.com/a.git", ref: "main" } as const;
    const body = {
      source,
      variables: { size: { value: 1 }, key: { value: "old-secret", sensitive: true } },
    };
    await client.call("updateConfiguration", { params: { name: spec }, body });
    return spec;
  })
  // Claims the next job and lets it end so.
  .extend("run", ({ runner }) => async ({ status = "SUCCESS", ...more }: End = {}) => {
    await runner.call("heartbeat", { body: { version: "1.0.0", features: [...features] } });
    const { job } = await runner.call("claimJob");
    await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
    await runner.call("reportStatus", { params: job, body: { status, ...more } });
    return job;
  })
  .extend("queue", ({ client, spec }) => (body: Omit<CreateJob, "configuration_id">) => {
    return client.call("createJob", { body: { configuration_id: spec, ...body } });
  })
  .extend("deploy", ({ git: _git, queue, run }) => async () => {
    const { id } = await queue({ job_type: "DEPLOY" });
    await run({ execution_metadata: { source_commit: commit } });
    return id;
  })
  .extend("check", ({ client, spec }) => () => {
    return client.call("checkDrift", { params: { name: spec } });
  })
  .extend("drift", ({ client, spec }) => async () => {
    const { drift, status } = await client.call("getConfiguration", { params: { name: spec } });
    return { ...drift, configuration: status };
  });

describe("a drift check", () => {
  it("needs a deployment, of which the commit is known", async ({
    client,
    spec,
    git: _git,
    queue,
    run,
    drift,
  }) => {
    const refusal = () => client.refusal("checkDrift", { params: { name: spec } });
    expect(await drift()).toMatchObject({
      status: "unchecked",
      since: null,
      checked_at: null,
      job_id: null,
      resources: 0,
    });
    expect(await refusal()).toBe("409 not_deployed");
    await queue({ job_type: "DEPLOY" });
    await run();
    expect(await refusal()).toBe("409 not_deployed");
    await queue({ job_type: "DEPLOY" });
    await run({ execution_metadata: { source_commit: commit } });
    await queue({ job_type: "DESTROY" });
    await run();
    expect(await refusal()).toBe("409 not_deployed");
    expect(await drift()).toMatchObject({ status: "unchecked", since: null, job_id: null });
    expect(await client.refusal("checkDrift", { params: { name: "other" } })).toBe("404 not_found");
    expect(await readRows(plane, "jobs", { drift_check: 1 })).toEqual([]);
  });

  it("plans what was deployed, with the plain values of then and the secrets of now", async ({
    client,
    spec,
    deploy,
    check,
    run,
  }) => {
    await deploy();
    const body = {
      source: { type: "git", url: "https://git.example.com/b.git", ref: "next" },
      engine: "opentofu",
      variables: {
        size: { value: 2 },
        key: { value: "new-secret", sensitive: true },
        more: { value: 3 },
      },
      environment: { TOKEN: { value: "renewed", sensitive: true } },
    } as const;
    await client.call("updateConfiguration", { params: { name: spec }, body });
    const job = await check();
    expect(job).toMatchObject({
      job_type: "PLAN",
      deployed: true,
      own_source: false,
      plan_options: { refresh_only: true },
    });
    expect(await run()).toMatchObject({
      id: job.id,
      plan_options: { refresh_only: true },
      config_snapshot: {
        source: { type: "git", url: "https://git.example.com/a.git", ref: commit },
        variables: { size: { value: 1 }, key: { value: "new-secret" } },
        environment: { TOKEN: "renewed" },
      },
    });
    const { source } = await client.call("getConfiguration", { params: { name: spec } });
    expect(source).toEqual(body.source);
  });

  it("is one at a time, and a second request returns it", async ({
    client,
    spec,
    deploy,
    check,
    run,
  }) => {
    await deploy();
    const params = { name: spec };
    const both = await Promise.all([check(), check(), client.call("checkDrift", { params })]);
    expect(new Set(both.map(({ id }) => id)).size).toBe(1);
    await run({ plan_summary: emptySummary });
    expect((await check()).id).not.toBe(both[0].id);
  });

  it.for([
    ["nothing that differs", { plan_summary: emptySummary }, "in_sync", 0],
    ["what differs", { plan_summary: drifted }, "drifted", 2],
    ["a failure", { status: "FAILED" }, "failed", 0],
    ["no readable plan", {}, "failed", 0],
    ["an incomplete plan", { plan_summary: { ...emptySummary, complete: false } }, "failed", 0],
  ] as const)(
    "with %s says so, and leaves the status alone",
    async ([, end, status, resources], { deploy, check, run, drift, client }) => {
      const deployment = await deploy();
      const before = await drift();
      expect(before).toMatchObject({ status: "in_sync", job_id: deployment, resources: 0 });
      const { id } = await check();
      await run(end);
      const after = await drift();
      expect(after).toMatchObject({ status, resources, job_id: id, configuration: "DEPLOYED" });
      expect(after.since === before.since).toBe(status === "in_sync");
      for (const [wanted, count] of [
        [status, 1],
        ["unchecked", 0],
      ] as const) {
        const { configurations } = await client.call("listConfigurations", {
          query: { drift: wanted },
        });
        expect(configurations.map((one) => one.drift?.status)).toEqual(Array(count).fill(wanted));
      }
    },
  );

  it("that is cancelled, limited or older than the newest apply says nothing", async ({
    client,
    deploy,
    check,
    queue,
    run,
    drift,
  }) => {
    await deploy();
    const before = await drift();
    const cancelled = await check();
    await client.call("cancelJob", { params: cancelled });
    expect(await drift()).toEqual(before);
    // A retry of a check is a check.
    const again = await client.call("retryJob", { params: cancelled });
    expect(again).toMatchObject({ deployed: true, plan_options: { refresh_only: true } });
    expect((await check()).id).toBe(again.id);
    await run({ plan_summary: drifted });
    expect(await drift()).toMatchObject({ status: "drifted" });
    await queue({ job_type: "PLAN", refresh_only: true, deployed: true, targets: ["a.b"] });
    await run({ plan_summary: emptySummary });
    await queue({ job_type: "PLAN", refresh_only: true });
    await run({ plan_summary: emptySummary });
    // A DEPLOY of some addresses has refreshed only these.
    const limited = await queue({ job_type: "PLAN", targets: ["a.b"] });
    await run({ plan_summary: emptySummary });
    await addArtifact(plane.context.store, limited.id);
    await queue({ job_type: "DEPLOY", plan_job_id: limited.id });
    await run();
    expect(await drift()).toMatchObject({ status: "drifted", job_id: again.id });
    await deploy();
    expect(await drift()).toMatchObject({ status: "in_sync" });
    expect(await readRows(plane, "jobs", { id: again.id })).toMatchObject([{ drift_check: 1 }]);
  });

  it("keeps the attributes of what differs", async ({ client, deploy, check, run }) => {
    await deploy();
    const { id } = await check();
    await run({ plan_summary: drifted });
    const { plan_summary } = await client.call("getPlanSummary", { params: { id } });
    expect(plan_summary?.drift).toEqual(drifted.drift);
  });

  it("may be accepted by its DEPLOY, or put back by a PLAN of what is deployed", async ({
    client,
    spec,
    deploy,
    check,
    queue,
    run,
    drift,
  }) => {
    await deploy();
    const source = { type: "git", url: "https://git.example.com/next.git" } as const;
    await client.call("updateConfiguration", { params: { name: spec }, body: { source } });
    const { id: plan_job_id } = await check();
    await run({ plan_summary: drifted });
    await addArtifact(plane.context.store, plan_job_id);
    // Neither is the source of the configuration now: both stay possible, and do not change it.
    const accept = await queue({ job_type: "DEPLOY", plan_job_id });
    expect(accept).toMatchObject({ deployed: true, plan_options: { refresh_only: true } });
    const claimed = await run({ execution_metadata: { source_commit: commit } });
    expect(claimed).toMatchObject({ id: accept.id, config_snapshot: { source: { ref: commit } } });
    expect(await drift()).toMatchObject({ status: "in_sync", job_id: accept.id });

    const back = await queue({ job_type: "PLAN", deployed: true });
    expect(back).toMatchObject({ deployed: true, plan_options: null, own_source: false });
    expect(await run({ plan_summary: emptySummary })).toMatchObject({
      config_snapshot: { source: { url: "https://git.example.com/a.git", ref: commit } },
    });
    const after = await client.call("getConfiguration", { params: { name: spec } });
    expect(after.source).toEqual(source);
  });

  it("refuses requests that make no sense", async ({ client, spec, deploy }) => {
    await deploy();
    const inline = { type: "inline", files: { "main.tf": "" } } as const;
    for (const more of [
      { job_type: "DEPLOY", deployed: true },
      { job_type: "PLAN", deployed: true, source: inline },
      { job_type: "PLAN", deployed: "yes" },
    ]) {
      const body = { configuration_id: spec, ...more } as never;
      expect(await client.refusal("createJob", { body })).toBe("400 invalid_request");
    }
  });

  it("of an archive needs that the files are still there", async ({ client, spec, deploy }) => {
    await deploy();
    const sha256 = "a".repeat(64);
    const [{ id } = { id: "" }] = await readRows(plane, "jobs", { spec_id: spec });
    const config_snapshot = JSON.stringify({ source: { type: "archive", sha256 } }) as never;
    await setRows(plane, "job_snapshots", { config_snapshot }, { job_id: id });
    expect(await client.refusal("checkDrift", { params: { name: spec } })).toBe("409 not_deployed");
  });
});
