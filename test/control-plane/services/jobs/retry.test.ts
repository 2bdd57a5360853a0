import { describe, expect } from "vitest";
import { endpoints } from "../../../../protocol/endpoints.ts";
import { setJob } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { addArtifact, addJob } from "../../../helpers/rows.ts";

const { cancelJob, createJob, retryJob } = endpoints;

const { plane, it } = planeForFile();

describe("a retry of a job", () => {
  it("creates a new job with the same request", async ({ spec, worker, client }) => {
    const first = await client.get(createJob, {
      body: {
        job_type: "DEPLOY",
        configuration_id: spec,
        assigned_worker_id: worker.id,
        labels: ["gpu"],
        debug: true,
      },
    });
    await client.get(cancelJob, { params: first });
    const second = await client.get(retryJob, { params: first });
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

  it("is refused for a job that has not ended or has succeeded", async ({
    owner,
    spec,
    client,
  }) => {
    for (const status of ["QUEUED", "PROCESSING", "SUCCESS"] as const) {
      const params = await addJob(plane.context.store, owner, { status, spec_id: spec });
      expect(await client.refusal(retryJob, { params: { id: params.id } })).toBe(
        "409 job_not_retryable",
      );
    }
  });

  it("is refused if the plan has been used or is stale", async ({ owner, spec, client }) => {
    const plan = await addJob(plane.context.store, owner, { status: "SUCCESS", spec_id: spec });
    await addArtifact(plane.context.store, plan.id);
    const deploy = await addJob(plane.context.store, owner, {
      job_type: "DEPLOY",
      status: "FAILED",
      spec_id: spec,
      plan_job_id: plan.id,
      started_at: 1,
      released_at: 1,
    });
    const params = { id: deploy.id };
    expect(await client.refusal(retryJob, { params })).toBe("409 plan_already_used");
    await setJob(plane, deploy, { status: "CANCELLED", started_at: null });
    // No longer used, but made of another definition of the configuration.
    expect(await client.refusal(retryJob, { params })).toBe("409 plan_is_stale");
  });

  it("is refused for another user's job", async ({ owner, spec, otherClient: client }) => {
    const job = await addJob(plane.context.store, owner, { status: "FAILED", spec_id: spec });
    expect(await client.refusal(retryJob, { params: { id: job.id } })).toBe("404 not_found");
  });
});
