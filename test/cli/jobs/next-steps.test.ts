import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Api } from "../../../cli/api/api.ts";
import { deployedText } from "../../../cli/configurations/deployed.ts";
import { remove } from "../../../cli/configurations/verbs.ts";
import { showConfiguration } from "../../../cli/configurations/show.ts";
import type { Run } from "../../../cli/run.ts";
import { list, push, show } from "../../../cli/states/states.ts";
import { showJob, showPlan } from "../../../cli/jobs/read.ts";
import { outcomeText, waitingLine } from "../../../cli/jobs/words.ts";
import { nextSteps } from "../../../cli/jobs/next-steps.ts";
import { adviseWorker } from "../../../cli/workers/advise.ts";
import { callsOf } from "../../helpers/plane/calls.ts";
import { clientApiOf, openClientApi } from "../../helpers/cli/client-api.ts";
import { addTestWorker, ask, clientHeaders } from "../../helpers/plane/plane.ts";
import { emptySummary } from "../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addOwner, addRows, addSpec, type Owner } from "../../helpers/plane/rows.ts";
import { openSampleUser } from "../../helpers/plane/sample-data.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

const { plane } = planeForFile();
const folder = folderForFile();

const runOf = async (owner: Owner) => runWith(await clientApiOf(plane, owner));

function runWith(api: Api) {
  const said: string[] = [];
  return { run: { api, done: (text: string) => void said.push(text) } as unknown as Run, said };
}

/** Writes a state of this lineage to a file. */
function writeState(lineage: string): string {
  const file = join(folder, "state");
  const state = { version: 4, serial: 9, lineage, outputs: {}, resources: [] };
  writeFileSync(file, JSON.stringify(state));
  return file;
}

const up = { again: "run windlass up again.", set: "add to the command:" };

test("a job that ended without success says what exists and what to do", async () => {
  const user = await openSampleUser(plane);
  const { run } = await runOf(user.owner);
  const configuration_id = await user.configure("network");
  const end = async (job_type: "PLAN" | "DEPLOY", status: "FAILED" | "SUCCESS", more = {}) => {
    const id = await user.run({ job_type, configuration_id }, status, more);
    const job = await user.read(id);
    return nextSteps(run, job, up);
  };
  expect(await end("PLAN", "FAILED")).toBe(
    "No resource was changed. Once the cause is removed, run windlass up again.",
  );
  const error_message =
    'plan failed (exit code 1): main.tf:1: No value for required variable: The root module input variable "region" is not set, and has no default value.';
  const failure = { kind: "missing_variables", variables: ["region"] };
  expect(await end("PLAN", "FAILED", { error_message, failure })).toBe(
    "No resource was changed. To set the variable, add to the command: --var 'region=VALUE'\nFor a list, a map or an object, VALUE is JSON.\nFor a secret, pass --sensitive region instead: it asks for the value.\nIf a file has the values, add to the command: --var-file FILE",
  );
  const two = { ...failure, variables: ["region", "size"] };
  expect(await end("PLAN", "FAILED", { error_message, failure: two })).toBe(
    "No resource was changed. To set the variables, add to the command: --var 'region=VALUE' --var 'size=VALUE'\nFor a list, a map or an object, VALUE is JSON.\nFor a secret, pass --sensitive region or --sensitive size instead: it asks for the value.\nIf a file has the values, add to the command: --var-file FILE",
  );
  const unsuitable = { kind: "unsuitable_variables", variables: ["size"] };
  const variables = { size: { value: "x" } };
  const params = { name: configuration_id };
  await user.client.call("updateConfiguration", { params, body: { variables } });
  expect(await end("PLAN", "FAILED", { failure: unsuitable })).toBe(
    `No resource was changed. Once the cause is removed, run windlass up again.\nThe value of "size" is kept in the configuration. To change it, add to the command: --var 'size=VALUE', for a list, a map or an object as JSON; to remove it, run: windlass configurations update network --unset size`,
  );
  const late = await end("PLAN", "FAILED", { failure: { kind: "timed_out" } });
  expect(late).toBe(
    "No resource was changed. To give it more time, add to the command: --timeout SECONDS\nTo try again without that, run windlass up again.",
  );
  expect(await end("DEPLOY", "FAILED")).toMatch(
    /^Nothing is deployed\. Once [^]*\nWhat became of each resource: windlass jobs show [\w-]+$/,
  );
  await end("DEPLOY", "SUCCESS");
  const early = async (...steps: string[]) => {
    const id = await user.begin({ job_type: "DEPLOY", configuration_id });
    for (const step of steps)
      for (const event of ["started", "ended"] as const) await user.step(id, step, event);
    await user.end(id, "FAILED", { error_message: "failed", last_seq: 0 });
    return nextSteps(run, await user.read(id), up);
  };
  const unchanged = "No resource was changed. Once the cause is removed, run windlass up again.";
  expect(await early()).toBe(unchanged);
  expect(await early("init", "plan")).toBe(unchanged);
  expect(await early("init", "plan", "apply")).toContain("What was changed until then");
  expect(await end("DEPLOY", "FAILED")).toMatch(
    /^Deployed now: .* ago\. What was changed until then stays\. Once/,
  );
  const { id } = await user.queue({ job_type: "DEPLOY", configuration_id });
  const cancelled = await user.client.call("cancelJob", { params: { id } });
  expect(await nextSteps(run, cancelled, up)).toBe(
    "No resource was changed. To go on, run windlass up again.",
  );
  const ofStalePlan = { ...cancelled, status: "FAILED", plan_job_id: id } as const;
  expect(await nextSteps(run, ofStalePlan, up)).toBe(
    "No resource was changed. To go on, run windlass up again.",
  );
  const rows: Record<string, unknown> = {};
  const show = (_: object, fields: object) => void Object.assign(rows, fields);
  const source_commit = "0123456789abcdef0123456789abcdef01234567";
  const source = { type: "git", url: "https://git.example.com/app", path: "eu" } as const;
  const config_snapshot = { ...cancelled.config_snapshot!, source };
  const warnings = [
    { summary: "Deprecated", detail: "Use\n\nb.", address: "a.a", file: "main.tf", line: 3 },
    { summary: "Undeclared" },
  ];
  await showJob(
    { ...run, show },
    { ...cancelled, config_snapshot, execution_metadata: { source_commit, warnings } },
  );
  expect(rows["source"]).toBe(
    `https://git.example.com/app (eu) at its default branch, commit ${source_commit}`,
  );
  expect(rows["warnings"]).toBe("main.tf:3: a.a: Deprecated: Use b.\nUndeclared");
  expect(rows["created"]).toMatch(new RegExp(`^[^(]+ UTC \\([^)]+ ago\\) by ${user.email}$`));
  expect(rows["cancelled"]).toBe(`by ${user.email} before it started`);
  const overtaken = {
    error_message: "apply failed (exit code 1): Saved plan is stale: The given plan file can no",
    failure: { kind: "plan_overtaken", summary: "apply failed (exit code 1)" },
  };
  const other = { ...cancelled, ...overtaken, status: "FAILED" as const };
  expect(await nextSteps(run, { ...other, started_at: cancelled.created_at }, up)).toBe(
    "No resource was changed. To go on, run windlass up again.",
  );
  expect(outcomeText(other)).toContain("Saved plan is stale");
  const archive = { type: "archive", sha256: "0".repeat(64) } as const;
  const packed = { ...other, config_snapshot: { ...config_snapshot, source: archive } };
  expect(await nextSteps(run, { ...packed, failure: null })).toMatch(
    /\nTo change its files first, run: windlass configurations update network --dir DIRECTORY$/,
  );
  // For `jobs deploy --wait` and all others.
  expect(await nextSteps(run, cancelled)).toBe(
    `No resource was changed. To go on, run: windlass jobs retry ${id} --wait`,
  );
  expect(await nextSteps(run, { ...cancelled, failure })).toBe(
    "No resource was changed. To set the variable, run: windlass configurations update network --var 'region=VALUE'\nFor a list, a map or an object, VALUE is JSON.\nFor a secret, pass --sensitive region instead: it asks for the value.\nIf a file has the values, run: windlass configurations update network --var-file FILE",
  );
  expect(await nextSteps(run, { ...packed, failure })).toMatch(
    /\nIf a file has the values, run: windlass configurations update network --dir DIRECTORY --var-file FILE$/,
  );
});

test("a teardown that failed says that its worker stays drained, and how to end that", async () => {
  const user = await openSampleUser(plane);
  const { run } = await runOf(user.owner);
  const configuration_id = await user.configure("network");
  const { id, headers } = await addTestWorker(plane, user.owner);
  const deploy_configuration = { configuration_id, all: true as const };
  const body = { name: "old one", deploy_configuration };
  await user.client.call("updateWorker", { params: { id }, body });
  await callsOf(plane, headers).call("heartbeat", {
    query: {},
    body: { version: "0.1.0" },
  });
  const job = await user.run({ job_type: "DESTROY_WORKER", assigned_worker_id: id }, "FAILED");
  const drained =
    "\nThe worker \"old one\" stays drained: it gets no new jobs. To end that: windlass workers undrain 'old one'";
  expect(await nextSteps(run, await user.read(job))).toContain(drained);
  await user.client.call("undrainWorker", { params: { id } });
  expect(await nextSteps(run, await user.read(job))).not.toContain("drained");
});

test("a lost apply says that its outcome is unknown, and how to unlock the state", async () => {
  const user = await openSampleUser(plane);
  const { run } = await runOf(user.owner);
  const configuration_id = await user.configure("a network");
  const deploy = async () => {
    return user.begin({ job_type: "DEPLOY", configuration_id });
  };
  await user.end(await deploy(), "SUCCESS");
  const id = await deploy();
  await user.end(id, "FAILED", { outcome_unknown: true });
  const unknown =
    /^What it changed is not known\. The last known deployment, which may be out of date: [^.]+ ago\. /;
  const lost = await user.read(id);
  await user.client.call("breakStateLock", { params: { name: configuration_id } });
  const withoutLock = await nextSteps(run, lost, up);
  expect(withoutLock).toMatch(unknown);
  expect(withoutLock).toContain("Once its terraform has ended, run windlass up again.");

  const lock = { spec_id: configuration_id, lock_id: "a", job_id: id, info: "{}", created_at: 1 };
  await addRows(plane.context.store, "state_locks", lock);
  const said = await nextSteps(run, lost, up);
  expect(said).toMatch(/ago\.\nThe state is locked since/);
  const by = new RegExp(
    `locked since 1970-01-01 .* ago\\) by the job ${id}, whose outcome is unknown`,
  );
  expect(said).toMatch(by);
  expect(said).toContain(
    "Check that its terraform has ended, and what it has changed, then run: windlass state unlock 'a network'\nAfter that, run windlass up again.",
  );
  // The next job, the configuration, and what is refused name the same command.
  const next = await user.queue({ job_type: "PLAN", configuration_id });
  expect(next.waiting_reason).toBe("state_locked");
  expect(waitingLine({ team: "ops" }, next, { waiting_reason: "state_locked" })).toMatch(
    /: windlass state unlock 'a network' --team ops$/,
  );
  const params = { name: configuration_id };
  const configuration = await user.client.call("getConfiguration", { params });
  const rows: Record<string, unknown> = {};
  const show = (_: object, fields: object) => void Object.assign(rows, fields);
  await showConfiguration({ ...run, show }, configuration);
  expect(rows["lock"]).toMatch(by);
  expect(rows["lock"]).toContain("windlass state unlock 'a network'");
  await user.client.call("cancelJob", { params: { id: next.id } });
  const file = writeState("a");
  const remedy = /run: windlass state unlock 'a network'$/;
  await expect(push(run, "a network", { file })).rejects.toThrow(remedy);
  await expect(remove(run, "a network", { yes: true })).rejects.toThrow(remedy);
});

test("the resources of a state that OpenTofu encrypted are not listed as none", async () => {
  const user = await openSampleUser(plane);
  const { run } = await runOf(user.owner);
  const name = await user.configure("network");
  const body = '{"serial":1,"lineage":"l","encrypted_data":"eA==","encryption_version":"v0"}';
  const path = `/api/cli/configurations/${name}/state/versions`;
  await ask(plane, "POST", path, { headers: await clientHeaders(plane, user.owner), body });
  for (const read of [list(run, "network"), show(run, "network", "a.b")])
    await expect(read).rejects.toThrow(
      /OpenTofu has encrypted it\. .*: windlass state pull network > FILE$/,
    );
  const { deployed } = await user.client.call("getConfiguration", { params: { name } });
  expect(deployedText(deployed!)).toMatch(/^an unknown number of resources, stored .*, serial 1$/);
});

test("a state of another lineage is refused with the option that replaces the stored one", async () => {
  const user = await openSampleUser(plane);
  const { run } = await runOf(user.owner);
  await user.configure("network");
  await push(run, "network", { file: writeState("a") });
  const file = writeState("b");
  await expect(push(run, "network", { file })).rejects.toThrow(
    /lineage of this state differs [^]*\. To replace the stored state all the same, add --force/,
  );
  await push(run, "network", { file, force: true, yes: true });
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

test("who may not create tokens is told to ask an admin", async () => {
  const owner = await addOwner(plane.context.store);
  const configuration_id = await addSpec(plane.context.store, owner);
  const person = callsOf(plane, await clientHeaders(plane, owner));
  const body = { name: "ci", role: "deployer" } as const;
  const { access_token } = await person.call("createAccessToken", { body });
  const { run, said } = runWith(openClientApi(plane.url, access_token));
  const job = await run.api.call("createJob", { body: { job_type: "PLAN", configuration_id } });
  await adviseWorker(run, job);
  expect(said).toEqual([
    "There is no worker yet, and jobs wait for one. Ask an admin to add one.\nThis command keeps waiting. Ctrl-C is safe: the job stays queued.",
  ]);
});

test("who may not deploy is told to ask a deployer to deploy the plan", async () => {
  const user = await openSampleUser(plane);
  const configuration_id = await user.configure("network");
  const id = await user.run({ job_type: "PLAN", configuration_id }, "SUCCESS", {
    plan_summary: emptySummary,
  });
  const command = `windlass jobs deploy --plan ${id} --wait`;
  const lastOf = async ({ run, said }: Awaited<ReturnType<typeof runOf>>) => {
    await showPlan(run, await user.read(id));
    return said.at(-1);
  };
  expect(await lastOf(await runOf(user.owner))).toBe(`\nTo deploy exactly this plan: ${command}`);
  const body = { name: "ci", role: "planner" } as const;
  const { access_token } = await user.client.call("createAccessToken", { body });
  expect(await lastOf(runWith(openClientApi(plane.url, access_token)))).toBe(
    `\nAsk a deployer to deploy exactly this plan: ${command}`,
  );
  const params = { name: configuration_id };
  const variables = { region: { value: "eu" } };
  await user.client.call("updateConfiguration", { params, body: { variables } });
  expect(await lastOf(await runOf(user.owner))).toMatch(
    /^\nThis plan cannot be deployed: .* plan again\. For a new plan: windlass jobs plan network$/,
  );
});
