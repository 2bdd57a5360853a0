import { describe, expect } from "vitest";
import { setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addArtifact, addJob } from "../../../helpers/plane/rows.ts";

const { plane, it } = planeForFile();

describe("a retry of a job", () => {
  it("creates a new job with the same request", async ({ spec, worker, client }) => {
    const first = await client.call("createJob", {
      body: {
        job_type: "DEPLOY",
        configuration_id: spec,
        assigned_worker_id: worker.id,
        labels: ["gpu"],
        debug: true,
      },
    });
    await client.call("cancelJob", { params: first });
    const second = await client.call("retryJob", { params: first });
    expect(second.id).not.toBe(first.id);
    expect(second).toMatchObject({
      status: "QUEUED",
      job_type: "DEPLOY",
      configuration_id: spec,
      assigned_worker_id: worker.id,
      labels: ["gpu"],
      debug: true,
      config_hash: first.config_hash,
    });
  });

  it("is refused for a job that runs or has succeeded", async ({ owner, spec, client }) => {
    for (const status of ["QUEUED", "PROCESSING", "SUCCESS"] as const) {
      const params = await addJob(plane.context.store, owner, { status, spec_id: spec });
      expect(await client.refusal("retryJob", { params: { id: params.id } })).toBe(
        "409 job_not_retryable",
      );
    }
  });

  it("of a DEPLOY of a plan makes a new plan from the same source, and applies nothing", async ({
    owner,
    spec,
    client,
    runner,
  }) => {
    const source = { type: "inline" as const, files: { "main.tf": "# another directory" } };
    const plan = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec, source },
    });
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: plan, body: { status: "SUCCESS" } });
    await addArtifact(plane.context.store, plan.id);
    // As if the worker had this label when it claimed the plan.
    await setRows(plane, "jobs", { labels: '["gpu"]' }, { id: plan.id });
    const body = {
      job_type: "DEPLOY" as const,
      configuration_id: spec,
      plan_job_id: plan.id,
      labels: ["gpu"],
    };
    const queued = await client.call("createJob", { body });
    await client.call("cancelJob", { params: queued });
    const started = await addJob(plane.context.store, owner, {
      job_type: "DEPLOY",
      status: "FAILED",
      spec_id: spec,
      plan_job_id: plan.id,
      labels: '["gpu"]',
      started_at: 1,
      released_at: 1,
    });
    const again = await client.call("retryJob", { params: queued });
    expect(again).toMatchObject({
      job_type: "PLAN",
      plan_job_id: null,
      labels: ["gpu"],
      own_source: true,
      config_snapshot: { source },
      config_hash: plan.config_hash,
    });
    expect(await client.call("retryJob", { params: { id: started.id } })).toMatchObject({
      job_type: "PLAN",
      plan_job_id: null,
      own_source: false,
    });
  });
});
