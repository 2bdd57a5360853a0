/**
 * A real agent and control plane with real terraform and a managed state. See also agent-cancel,
 * agent-life, agent-many, agent-signals and kill-table in test/faults.
 */
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "tar";
import { buffer } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { scratch, startAgent, until } from "../helpers/agent/agent-process.ts";
import { inlineFixture, longRunning } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { root } from "../helpers/project/source-files.ts";

const { plane } = planeForFile();

const machineWithAgent = (settings: Record<string, string> = {}) =>
  userMachine(plane, { agent: settings });

describe.concurrent("a job", () => {
  test("that changes secrets which a provider stores unmarked masks the values before", async () => {
    await using machine = await machineWithAgent();
    const { user } = machine;
    const files = {
      "main.tf": `variable "own" {
  sensitive = true
}
variable "shared" {
  sensitive = true
}
variable "token" {
  sensitive = true
}
resource "terraform_data" "login" {
  input = nonsensitive("\${var.own} \${base64encode(var.shared)}")
}
resource "terraform_data" "token" {
  input            = nonsensitive(var.token)
  triggers_replace = nonsensitive(var.own)
}
resource "terraform_data" "kept" {
  input = nonsensitive(var.own)
  lifecycle {
    ignore_changes = [input]
  }
}
output "login" {
  value = nonsensitive(var.own)
}
output "kept" {
  value = terraform_data.kept.output
}
output "stored" {
  value = terraform_data.token.output
}`,
    };
    const valuesOf = (when: string) => ({
      own: { variables: { own: { value: `hunter-own-${when}`, sensitive: true } } },
      set: { variables: { shared: { value: `hunter-shared-${when}`, sensitive: true } } },
      environment: { TF_VAR_token: { value: `hunter-token-${when}`, sensitive: true } },
    });
    const formsOf = (when: string) =>
      ["own", "shared", "token"].flatMap((name) => [
        `hunter-${name}-${when}`,
        // Its last characters depend on what follows.
        Buffer.from(`hunter-${name}-${when}`).toString("base64").slice(0, -4),
      ]);
    const before = valuesOf("before");
    const id = await user.configure({
      source: { type: "inline", files },
      ...before.own,
      environment: before.environment,
    });
    const set = await user.client.call("createVariableSet", {
      body: { name: "shared values", ...before.set, configuration_ids: [id] },
    });
    const run = async (job_type: "PLAN" | "DEPLOY", plan_job_id?: string) => {
      const job = await user.queue({
        job_type,
        configuration_id: id,
        ...(plan_job_id === undefined ? {} : { plan_job_id }),
      });
      const ended = await user.released(job);
      expect(ended).toMatchObject({ status: "SUCCESS" });
      const { logs } = await user.client.call("getJobLogs", { params: job, query: {} });
      const log = logs.map(({ log_chunk }) => stripVTControlCharacters(log_chunk)).join("");
      const summary =
        job_type === "PLAN" ? await user.client.call("getPlanSummary", { params: job }) : undefined;
      return { job, log, summary, all: JSON.stringify([ended, logs, summary]) + log };
    };
    await run("DEPLOY");
    const after = valuesOf("after");
    await user.client.call("updateConfiguration", {
      params: { name: id },
      body: { ...after.own, environment: after.environment },
    });
    await user.client.call("updateVariableSet", { params: { id: set.id }, body: after.set });
    const plan = await run("PLAN");
    expect(plan.log).toMatch(/~ input += "\*+ \*+\S*" -> "\*+ \*+\S*"/);
    expect(plan.log).toMatch(/~ login += "\*+" -> "\*+"/);
    expect(plan.summary?.plan_summary?.counts).toMatchObject({ update: 1, replace: 1 });
    const deploy = await run("DEPLOY", plan.job.id);
    for (const form of [...formsOf("before"), ...formsOf("after")])
      for (const { all } of [plan, deploy]) expect(all).not.toContain(form);
    expect((await user.read(deploy.job)).execution_metadata?.outputs).toMatchObject({
      kept: { sensitive: true },
    });
    expect(machine.agentLog()).not.toContain("hunter-");
  });

  test("succeeds with the number of checks that fail, in its plan and after its apply", async () => {
    await using machine = await machineWithAgent();
    const { user } = machine;
    const check = (name: string, condition: string) =>
      `check "${name}" {\n  assert {\n    condition = ${condition}\n    error_message = "no"\n  }\n}\n`;
    const main = [
      'locals {\n  one = 1\n}\nresource "terraform_data" "a" {\n  input = "x"\n}\n',
      check("passes", "local.one == 1"),
      check("fails", "local.one == 2"),
      check("later", 'terraform_data.a.id == ""'),
    ].join("");
    const files = { "main.tf": main };
    const configuration_id = await user.configure({ source: { type: "inline", files } });
    const plan = await user.queue({ job_type: "PLAN", configuration_id });
    expect(await user.released(plan)).toMatchObject({ status: "SUCCESS", failed_checks: 1 });
    const planned = await user.queue({
      job_type: "DEPLOY",
      configuration_id,
      plan_job_id: plan.id,
    });
    const ended = await user.released(planned);
    expect(ended).toMatchObject({ status: "SUCCESS", failed_checks: 2 });
    expect(
      ended.execution_metadata?.made_known?.checks.toSorted((a, b) =>
        a.address.localeCompare(b.address),
      ),
    ).toEqual([
      { address: "check.fails", status: "fail" },
      { address: "check.later", status: "fail" },
    ]);
    const alone = await user.queue({ job_type: "DEPLOY", configuration_id });
    expect(await user.released(alone)).toMatchObject({ status: "SUCCESS", failed_checks: 2 });
  });

  test("says in its log that it has another workspace than its files expect", async () => {
    await using machine = await machineWithAgent();
    const { user } = machine;
    const main = 'output "place" {\n  value = terraform.workspace\n}\n';
    const files = { "main.tf": main, ".terraform/environment": "staging" };
    const configuration_id = await user.configure({ source: { type: "inline", files } });
    const plan = await user.queue({ job_type: "PLAN", configuration_id });
    expect(await user.released(plan)).toMatchObject({ status: "SUCCESS" });
    const { logs } = await user.client.call("getJobLogs", { params: plan, query: {} });
    const log = logs.map(({ log_chunk }) => stripVTControlCharacters(log_chunk)).join("");
    expect(log).toContain(
      'Warning: the source has the workspace "staging", and main.tf uses terraform.workspace, but in every job the workspace is "default".',
    );
    expect(log).toMatch(/place += "default"/);
  });

  test("is planned from an archive and deployed, and destroyed by another agent with the same state", async () => {
    await using first = await machineWithAgent();
    const { user } = first;
    const folder = join(root, "test/fixtures/success-cluster");
    const archive = await buffer(create({ gzip: true, cwd: folder, portable: true }, ["."]));
    const configuration_id = await user.configure({
      source: { type: "archive", sha256: await user.upload(archive) },
      variables: {
        cluster_name: { value: "prod" },
        // Part of the output `cluster_endpoint`, which the configuration does not mark.
        region: { value: "eu-hidden-7", sensitive: true },
      },
    });
    const plan = await user.queue({ job_type: "PLAN", configuration_id });
    expect(await user.released(plan)).toMatchObject({ status: "SUCCESS", log_complete: true });
    const { plan_summary } = await user.client.call("getPlanSummary", { params: plan });
    expect(plan_summary?.counts).toMatchObject({ create: plan_summary?.changes.length, delete: 0 });
    const cluster = plan_summary?.changes.find(({ address }) => address.endsWith(".cluster"));
    expect(cluster?.attributes).toContainEqual({ path: "input.name", after: "prod" });
    expect(cluster?.attributes).toContainEqual({ path: "input.endpoint", sensitive: true });
    expect(plan_summary?.outputs).toContainEqual(
      expect.objectContaining({ name: "cluster_name", action: "create" }),
    );
    const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, plan_job_id: plan.id });
    const deployed = await user.released(deploy);
    expect(deployed).toMatchObject({
      status: "SUCCESS",
      execution_metadata: {
        cluster_name: "prod",
        outputs: { cluster_endpoint: { type: "string", sensitive: true } },
      },
    });
    expect(JSON.stringify([deployed, plan_summary])).not.toContain("eu-hidden-7");
    const known = deployed.execution_metadata?.made_known?.resources ?? [];
    expect(known.map(({ address }) => address).toSorted()).toEqual(
      plan_summary?.changes.map(({ address }) => address).toSorted(),
    );
    for (const { attributes } of known)
      expect(attributes).toContainEqual({ path: "id", after: expect.stringContaining("-") });
    const { logs } = await user.client.call("getJobLogs", { params: deploy, query: {} });
    for (const { address, attributes } of plan_summary?.changes ?? []) {
      expect(attributes).toContainEqual({ path: "id", unknown: true });
      const marks = logs.filter(({ resource }) => resource?.address === address);
      expect(marks.map(({ resource }) => resource?.event)).toEqual(["started", "ended"]);
      expect(marks[0]?.log_chunk).toContain(`${address}: Creating...`);
    }
    expect(statSync(join(first.work, "identity.json")).mode & 0o777).toBe(0o600);
    first.agent.kill("SIGTERM");
    expect(await first.agent.exited).toBe(0);

    using elsewhere = scratch();
    await using second = startAgent({
      WINDLASS_URL: plane.url,
      WINDLASS_WORK_DIR: elsewhere.path,
      WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
    });
    const destroy = await user.queue({ job_type: "DESTROY", configuration_id });
    expect(await user.released(destroy)).toMatchObject({ status: "SUCCESS" });
    expect(await user.log(destroy)).toContain("3 destroyed");
    second.kill("SIGTERM");
    expect(await second.exited).toBe(0);
  });

  test("goes to a worker by the labels that a person gave it, also after its agent starts again", async () => {
    await using machine = await machineWithAgent();
    const { user } = machine;
    await machine.ready();
    const { workerId } = await machine.identity();
    await user.client.call("updateWorker", { params: { id: workerId }, body: { labels: ["eu"] } });
    machine.agent.kill("SIGTERM");
    await machine.agent.exited;
    machine.restart();
    await machine.ready();
    const configuration_id = await user.configure({ ...longRunning(0), labels: ["eu"] });
    const plan = await user.queue({ job_type: "PLAN", configuration_id });
    expect(await user.released(plan)).toMatchObject({ status: "SUCCESS" });
  });
});

test("another worker tears a worker down by its targets, and fails when they match nothing", async () => {
  await using leaving = await machineWithAgent();
  const { user } = leaving;
  const configuration_id = await user.configure({ source: inlineFixture("worker-destroy") });
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect(await user.released(deploy)).toMatchObject({ status: "SUCCESS" });
  const { workerId } = await leaving.identity();
  using elsewhere = scratch();
  await using other = startAgent({
    WINDLASS_URL: plane.url,
    WINDLASS_WORK_DIR: elsewhere.path,
    WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
    WINDLASS_WORKER_NAME: "the other",
  });
  await until(() => other.log().includes("ready for jobs"));
  const tearDown = async (targets: string[], id = configuration_id) => {
    const deploy_configuration = { configuration_id: id, targets };
    const change = { params: { id: workerId }, body: { deploy_configuration } };
    await user.client.call("updateWorker", change);
    return user.released(
      await user.queue({ job_type: "DESTROY_WORKER", assigned_worker_id: workerId }),
    );
  };
  const misspelt = await tearDown(["module.wroker"]);
  expect(misspelt.status).toBe("FAILED");
  expect(misspelt.error_message).toMatch(
    /nothing would be destroyed, but the state has 4 resources.*module\.wroker/,
  );
  const half = await tearDown(["module.worker", "module.wroker"]);
  expect(half.status).toBe("FAILED");
  expect(half.error_message).toMatch(/^plan: nothing would be destroyed for module\.wroker, /);
  expect(await user.log(half)).not.toContain("2 destroyed");
  const never = await user.configure({ source: inlineFixture("worker-destroy") });
  const without = await tearDown(["module.worker"], never);
  expect(without.status).toBe("FAILED");
  expect(without.error_message).toContain("has no state: nothing was ever deployed with it");
  const right = await tearDown(["module.worker"]);
  expect(right).toMatchObject({ status: "SUCCESS" });
  expect(right.worker_id).not.toBe(workerId);
  expect(await user.log(right)).toContain("2 destroyed");
});

test("a teardown that failed after destroying a part is completed by its retry", async () => {
  await using leaving = await machineWithAgent();
  const { user } = leaving;
  using elsewhere = scratch();
  const marker = join(elsewhere.path, "may-go");
  const configuration_id = await user.configure({
    source: {
      type: "inline",
      files: {
        "main.tf": `
          resource "terraform_data" "easy" {}
          resource "terraform_data" "stuck" {
            input = ${JSON.stringify(marker)}
            provisioner "local-exec" {
              when    = destroy
              command = "test -e $MARKER"
              environment = { MARKER = self.input }
            }
          }
          resource "terraform_data" "kept" {}`,
      },
    },
  });
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect(await user.released(deploy)).toMatchObject({ status: "SUCCESS" });
  const { workerId } = await leaving.identity();
  await using other = startAgent({
    WINDLASS_URL: plane.url,
    WINDLASS_WORK_DIR: join(elsewhere.path, "work"),
    WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
    WINDLASS_WORKER_NAME: "the other",
    // The provisioner reads a file of the test.
    WINDLASS_ISOLATION: "process",
  });
  await until(() => other.log().includes("ready for jobs"));
  const targets = ["terraform_data.easy", "terraform_data.stuck"];
  const deploy_configuration = { configuration_id, targets };
  await user.client.call("updateWorker", {
    params: { id: workerId },
    body: { deploy_configuration },
  });
  const first = await user.released(
    await user.queue({ job_type: "DESTROY_WORKER", assigned_worker_id: workerId }),
  );
  expect(first.status).toBe("FAILED");
  expect(await user.log(first)).toContain("terraform_data.easy: Destruction complete");
  writeFileSync(marker, "");
  const retry = await user.client.call("retryJob", { params: { id: first.id } });
  const second = await user.released(retry);
  expect(second).toMatchObject({ status: "SUCCESS" });
  expect(await user.log(second)).toContain("1 destroyed");
});
