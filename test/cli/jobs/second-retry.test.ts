import { expect, test } from "vitest";
import { refuseSecondRetry } from "../../../cli/jobs/second-retry.ts";
import type { Run } from "../../../cli/run.ts";
import { clientApiOf } from "../../helpers/cli/client-api.ts";
import { emptySummary } from "../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

test("a second retry is refused while the first is open, or its plan can be deployed", async () => {
  const user = await openSampleUser(plane);
  const run = { api: await clientApiOf(plane, user.owner) } as Run;
  const configuration_id = await user.configure("network");
  const end = async (plan_job_id?: string) => {
    const made = plan_job_id === undefined ? {} : { plan_job_id };
    const job_type = plan_job_id === undefined ? "PLAN" : "DEPLOY";
    const id = await user.begin({ job_type, configuration_id, ...made });
    const plan_summary = { ...emptySummary, counts: { ...emptySummary.counts, create: 1 } };
    if (job_type === "PLAN") await user.end(id, "SUCCESS", { plan_summary });
    else await user.end(id, "FAILED");
    return id;
  };
  const failed = await user.read(await end(await end()));
  const refused = () =>
    refuseSecondRetry(run, failed).then(
      () => "",
      (error: Error) => error.message,
    );
  expect(await refused()).toBe("");
  // Another request.
  const { id: other } = await user.queue({ job_type: "PLAN", configuration_id, targets: ["a.b"] });
  expect(await refused()).toBe("");
  await user.client.call("cancelJob", { params: { id: other } });

  const { id } = await user.client.call("retryJob", { params: { id: failed.id } });
  expect(await refused()).toBe(
    `A job with the same request was queued since: the plan of "network" (job ${id}), which is QUEUED. Nothing was queued. To follow it: windlass jobs logs ${id} --follow`,
  );
  await user.start();
  await user.end(id, "SUCCESS", { plan_summary: emptySummary });
  expect(await refused()).toBe(
    `A job with the same request was queued since: the plan of "network" (job ${id}), which is SUCCESS and not deployed yet. Nothing was queued. To deploy it: windlass jobs deploy --plan ${id} --wait\nFor another plan: windlass jobs plan network`,
  );
  // It was queued before the runner of the first had stopped, and reported that it had.
  const { id: running } = await user.queue({ job_type: "PLAN", configuration_id });
  await user.start();
  await user.client.call("cancelJob", { params: { id: running } });
  const { id: again } = await user.client.call("retryJob", { params: { id: running } });
  await user.end(running, "CANCELLED");
  await expect(refuseSecondRetry(run, await user.read(running))).rejects.toThrow(again);
  await user.client.call("cancelJob", { params: { id: again } });
  // What is deployed changes with it, so that the plan is used and all earlier ones are stale.
  await end(id);
  expect(await refused()).toBe("");
});
