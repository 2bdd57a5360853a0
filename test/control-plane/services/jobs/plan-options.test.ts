import { describe, expect } from "vitest";
import { features } from "../../../../protocol/features.ts";
import type { CreateJob } from "../../../../protocol/jobs.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addArtifact } from "../../../helpers/plane/rows.ts";

const { plane, it: base } = planeForFile();

const none = { destroy: false, refresh_only: false, targets: [], replace: [] };

const it = base
  // Queues a PLAN with these options.
  .extend(
    "queue",
    ({ client, spec }) =>
      (options: Partial<CreateJob>) =>
        client.call("createJob", {
          body: { job_type: "PLAN", configuration_id: spec, ...options },
        }),
  )
  // Claims the next job, as a runner that supports the options, and lets it succeed.
  .extend("run", ({ runner }) => async () => {
    await runner.call("heartbeat", { body: { version: "1.0.0", features: [...features] } });
    const { job } = await runner.call("claimJob");
    for (const status of ["PROCESSING", "SUCCESS"] as const)
      await runner.call("reportStatus", { params: job, body: { status } });
    return job;
  })
  // Deploys a plan that has succeeded.
  .extend("deploy", ({ client, spec }) => async (plan_job_id: string) => {
    await addArtifact(plane.context.store, plan_job_id);
    const body = { job_type: "DEPLOY" as const, configuration_id: spec, plan_job_id };
    return client.call("createJob", { body });
  })
  .extend("status", ({ client, spec }) => async () => {
    return (await client.call("getConfiguration", { params: { name: spec } })).status;
  });

describe("the options of a PLAN", () => {
  it("are given to its runner and its DEPLOY's, and not hashed", async ({ queue, run, deploy }) => {
    const options = { targets: ["module.network"], replace: ['aws_instance.web["a"]'] };
    const ordinary = await queue({ targets: [], destroy: false });
    expect(ordinary.plan_options).toBeNull();
    expect(await run()).not.toHaveProperty("plan_options");
    const plan = await queue(options);
    expect(plan).toMatchObject({ plan_options: { ...none, ...options } });
    expect(plan.config_hash).toBe(ordinary.config_hash);
    expect(plan.config_snapshot).not.toHaveProperty("plan_options");
    expect(await run()).toMatchObject({ id: plan.id, plan_options: { ...none, ...options } });
    const deployment = await deploy(plan.id);
    expect(deployment).toMatchObject({ plan_options: { ...none, ...options } });
    expect(await run()).toMatchObject({ id: deployment.id, plan_options: deployment.plan_options });
  });

  it("stay those of a retry, also of the DEPLOY", async ({ client, queue, run, deploy }) => {
    const cancelled = await queue({ refresh_only: true });
    await client.call("cancelJob", { params: cancelled });
    const plan = await client.call("retryJob", { params: cancelled });
    expect(plan).toMatchObject({ plan_options: { ...none, refresh_only: true } });
    await run();
    const deployment = await deploy(plan.id);
    await client.call("cancelJob", { params: deployment });
    expect(await client.call("retryJob", { params: deployment })).toMatchObject({
      job_type: "PLAN",
      plan_options: { ...none, refresh_only: true },
    });
  });

  it("are refused if contradictory, no addresses or not for a PLAN", async ({ client, spec }) => {
    const addresses = (count: number, name = "a") =>
      Array.from({ length: count }, (_, n) => `${name}.b${n}`);
    for (const [options, job_type = "PLAN"] of [
      [{ destroy: true, refresh_only: true }],
      [{ destroy: true, replace: ["a.b"] }],
      [{ refresh_only: true, replace: ["a.b"] }],
      [{ replace: ["module.a"] }],
      [{ replace: ["data.a.b"] }],
      [{ replace: ["module.a.data.b.c"] }],
      [{ targets: ["-destroy"] }],
      [{ targets: ["a"] }],
      [{ targets: ["a.b", "a.b"] }],
      [{ targets: addresses(101) }],
      [{ targets: addresses(60), replace: addresses(41, "c") }],
      [{ exclude: ["a"] }],
      [{ exclude: ["a.b"], targets: ["c.d"] }],
      [{ exclude: addresses(60), replace: addresses(41, "c") }],
      [{ exclude: ["a.b"] }, "DEPLOY"],
      [{ destroy: true }, "DEPLOY"],
      [{ targets: ["a.b"] }, "DESTROY"],
    ] as [object, string?][]) {
      const body = { job_type, configuration_id: spec, ...options } as never;
      expect([options, await client.refusal("createJob", { body })]).toEqual([
        options,
        "400 invalid_request",
      ]);
    }
  });

  it("are accepted up to 100 addresses of resources, instances and modules", async ({ queue }) => {
    const targets = ["module.a[0].module.b", "module.a.data.b.c", 'a.b["x y"]'];
    const replace = Array.from({ length: 97 }, (_, n) => `module.a.b.c[${n}]`);
    expect(await queue({ targets, replace })).toMatchObject({ plan_options: { targets, replace } });
  });

  it("exclude addresses only with OpenTofu, for a runner that can, also to destroy", async ({
    client,
    runner,
    spec,
    queue,
    run,
    deploy,
    status,
  }) => {
    const exclude = ["module.network"];
    await expect(queue({ exclude })).rejects.toThrow(
      "the engine of the configuration is terraform",
    );
    const engine = { params: { name: spec }, body: { engine: "opentofu" as const } };
    await client.call("updateConfiguration", engine);
    const plan = await queue({ destroy: true, exclude });
    expect(plan).toMatchObject({ plan_options: { ...none, destroy: true, exclude } });
    await runner.call("heartbeat", { body: { version: "1.0.0", features: ["plan_options"] } });
    const { waiting_reason } = await client.call("getJob", { params: plan });
    expect(waiting_reason).toBe("needs_exclude");
    expect(await run()).toMatchObject({ id: plan.id, plan_options: plan.plan_options });
    const deployment = await deploy(plan.id);
    expect(await run()).toMatchObject({ id: deployment.id, plan_options: plan.plan_options });
    expect(await status()).toBe("DEPLOYED");
  });
});

describe("the DEPLOY of a plan that destroys", () => {
  it("leaves the configuration DESTROYED, and DEPLOYED if the plan was limited", async ({
    client,
    runner,
    queue,
    run,
    deploy,
    status,
  }) => {
    const limited = await queue({ destroy: true, targets: ["a.b"] });
    await run();
    await deploy(limited.id);
    await run();
    expect(await status()).toBe("DEPLOYED");
    const whole = await queue({ destroy: true });
    await run();
    expect(await status()).toBe("DEPLOYED");
    const { id } = await deploy(whole.id);
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: { id }, body: { status: "PROCESSING" } });
    expect(await status()).toBe("DESTROYING");
    await runner.call("reportStatus", { params: { id }, body: { status: "SUCCESS" } });
    expect(await status()).toBe("DESTROYED");
    const failed = await queue({});
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: failed, body: { status: "FAILED" } });
    await queue({});
    await run();
    expect(await status()).toBe("DESTROYED");
    await client.refusal("cancelJob", { params: { id } });
  });
});
