import { expect, test } from "vitest";
import { openApi } from "../../../cli/api/api.ts";
import type { Run } from "../../../cli/run.ts";
import { whatIsLeft } from "../../../cli/jobs/what-is-left.ts";
import { adviseWorker } from "../../../cli/workers/none.ts";
import { endpoints } from "../../../protocol/endpoints.ts";
import { clientHeaders } from "../../helpers/plane.ts";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { addOwner, addSpec } from "../../helpers/rows.ts";
import { openSampleUser } from "../../helpers/sample-data.ts";

const { plane } = planeForFile();

async function runOf(owner: { id: string; zone: string }) {
  const { authorization = "" } = await clientHeaders(plane, owner);
  const settings = { url: plane.url, token: authorization.replace("Bearer ", ""), directory: "/n" };
  const said: string[] = [];
  const api = openApi({ settings, server: undefined, profile: undefined });
  return { run: { api, done: (text: string) => void said.push(text) } as unknown as Run, said };
}

const up = { again: "run windlass up again.", set: "add to the command:" };

test("a job that ended without success says what exists and what to do", async () => {
  const user = await openSampleUser(plane);
  const { run } = await runOf(user.owner);
  const configuration_id = await user.configure("network");
  const end = async (job_type: "PLAN" | "DEPLOY", status: "FAILED" | "SUCCESS", more = {}) => {
    await user.queue({ job_type, configuration_id });
    const id = await user.start();
    await user.end(id, status, more);
    const job = await user.read(id);
    return whatIsLeft(run, job, up);
  };
  expect(await end("PLAN", "FAILED")).toBe(
    "Nothing was changed. Once the cause is removed, run windlass up again.",
  );
  const error_message =
    'plan failed (exit code 1): main.tf:1: No value for required variable: The root module input variable "region" is not set, and has no default value.';
  expect(await end("PLAN", "FAILED", { error_message })).toBe(
    "Nothing was changed. To set the variable, add to the command: --var 'region=VALUE'\nFor a secret, pass --sensitive region instead: it asks for the value.",
  );
  const two = `${error_message} ${error_message.replace("region", "size")}`;
  expect(await end("PLAN", "FAILED", { error_message: two })).toBe(
    "Nothing was changed. To set the variables, add to the command: --var 'region=VALUE' --var 'size=VALUE'\nFor a secret, pass --sensitive region instead: it asks for the value.",
  );
  expect(await end("DEPLOY", "FAILED")).toMatch(
    /^Nothing is deployed\. Once [^]*\nWhat became of each resource: windlass jobs show [\w-]+$/,
  );
  await end("DEPLOY", "SUCCESS");
  expect(await end("DEPLOY", "FAILED")).toMatch(
    /^Deployed now: .* ago\. What was changed until then stays\. Once/,
  );
  const { id } = await user.queue({ job_type: "DEPLOY", configuration_id });
  const cancelled = await user.person.get(endpoints.cancelJob, { params: { id } });
  expect(await whatIsLeft(run, cancelled, up)).toBe(
    "Nothing was changed. To go on, run windlass up again.",
  );
  // Of `jobs deploy --wait` and all others.
  expect(await whatIsLeft(run, cancelled)).toBe(
    `Nothing was changed. To go on, run: windlass jobs retry ${id} --wait`,
  );
  expect(await whatIsLeft(run, { ...cancelled, error_message })).toBe(
    "Nothing was changed. To set the variable, run: windlass configurations update network --var 'region=VALUE'\nFor a secret, pass --sensitive region instead: it asks for the value.",
  );
});

test("a job that waits in a space without workers says how to add one", async () => {
  const owner = await addOwner(plane.context.store);
  const { run, said } = await runOf(owner);
  const configuration_id = await addSpec(plane.context.store, owner);
  const job = await run.api.call("createJob", { body: { job_type: "PLAN", configuration_id } });
  await adviseWorker(run, job);
  expect(said).toHaveLength(1);
  for (const text of ["There is no worker yet", "windlass tokens create", "keeps waiting"])
    expect(said[0]).toContain(text);
});
