import { expect, test } from "vitest";
import { cancel, deploy } from "../../../cli/jobs/create.ts";
import type { Run } from "../../../cli/run.ts";
import { clientApiOf } from "../../helpers/cli/client-api.ts";
import { setRows } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

test("a cancel says whether the runner stops terraform", async () => {
  const user = await openSampleUser(plane);
  const api = await clientApiOf(plane, user.owner);
  const said: string[] = [];
  const run = { api, done: (text: string) => void said.push(text), show: () => undefined };
  const configuration_id = await user.configure("network");
  const says = async (id: string) => {
    await cancel(run as unknown as Run, id, {});
    return said.at(-1);
  };
  const { id: queued } = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect(await says(queued)).toBe('The deployment of "network" is cancelled.');

  const id = await user.begin({ job_type: "DEPLOY", configuration_id });
  expect(await says(id)).toBe(
    'The deployment of "network" is cancelled; its runner stops terraform.',
  );
  await setRows(plane, "workers", { offline_at: Date.now() }, { id: user.worker });
  expect(await says(id)).toBe(
    `The deployment of "network" is cancelled. Its runner is OFFLINE, so terraform may go on until the runner is back. To see whether it is: windlass workers show ${user.worker}`,
  );
  await user.end(id, "CANCELLED", { outcome_unknown: true });
  expect(await says(id)).toBe(
    'The deployment of "network" is cancelled. It is not known whether its terraform has ended.',
  );
});

test("only a plan that succeeded is deployed; another one is named with what to do", async () => {
  const user = await openSampleUser(plane);
  const run = { api: await clientApiOf(plane, user.owner) } as Run;
  const configuration_id = await user.configure("network");
  const refusal = (named: string, name: string | undefined = "network") =>
    deploy(run, name, { plan: named }).then(
      () => "deployed",
      (error: unknown) => (error as Error).message,
    );
  const short = (id: string) => id.slice(0, 13);

  const { id: queued } = await user.queue({ job_type: "PLAN", configuration_id });
  expect(await refusal("-")).toBe(
    `The plan of "network" (job ${short(queued)}) is QUEUED. To follow it: windlass jobs logs ${queued} --follow\nTo deploy it then: windlass jobs deploy --plan ${queued} --wait`,
  );
  const failed = await user.start();
  await user.end(failed, "FAILED");
  expect(await refusal("-")).toBe(
    `The plan of "network" (job ${short(failed)}) is FAILED, so it cannot be deployed. For a new plan: windlass jobs plan network`,
  );
  const targeted = { job_type: "PLAN" as const, configuration_id, targets: ["a.b"] };
  const { id: cancelled } = await user.queue(targeted);
  await user.client.call("cancelJob", { params: { id: cancelled } });
  expect(await refusal(cancelled)).toBe(
    `The plan of "network" (job ${short(cancelled)}) is CANCELLED, so it cannot be deployed. For a new plan: windlass jobs plan network --target a.b`,
  );
  const { id: deployment } = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect(await refusal(deployment)).toBe(
    `The deployment of "network" (job ${short(deployment)}) is not a plan.`,
  );
});
