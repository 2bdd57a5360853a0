import { describe, expect, it } from "vitest";
import { endpoints } from "../../../../protocol/endpoints.ts";
import { callsOf } from "../../../helpers/calls.ts";
import { addTestWorker, clientHeaders, setJob } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { addArtifact, addJob, addOwner, addSpec } from "../../../helpers/rows.ts";

const { cancelJob, createJob, retryJob } = endpoints;

const { plane } = planeForFile();

async function person() {
  const owner = await addOwner(plane.context.store);
  const client = callsOf(plane, await clientHeaders(plane, owner));
  const spec = await addSpec(plane.context.store, owner);
  const worker = await addTestWorker(plane, owner);
  return { owner, client, spec, worker };
}

describe("retrying a job", () => {
  it("asks for the same again as a new job", async () => {
    const { client, spec, worker } = await person();
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

  it("is refused of a job that is not over or succeeded", async () => {
    const { owner, client, spec } = await person();
    for (const status of ["QUEUED", "PROCESSING", "SUCCESS"] as const) {
      const params = await addJob(plane.context.store, owner, { status, spec_id: spec });
      expect(await client.refusal(retryJob, { params: { id: params.id } })).toBe(
        "409 job_not_retryable",
      );
    }
  });

  it("is refused with a plan that was used", async () => {
    const { owner, client, spec } = await person();
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
    // Not used any more, but of another configuration than the present one.
    expect(await client.refusal(retryJob, { params })).toBe("409 plan_is_stale");
  });

  it("is refused of somebody else's job", async () => {
    const [{ owner, spec }, { client }] = [await person(), await person()];
    const job = await addJob(plane.context.store, owner, { status: "FAILED", spec_id: spec });
    expect(await client.refusal(retryJob, { params: { id: job.id } })).toBe("404 not_found");
  });
});
