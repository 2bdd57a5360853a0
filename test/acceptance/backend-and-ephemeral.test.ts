/** Backends, ephemeral variables and files of variables, with a real agent and terraform. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { httpBackend } from "../helpers/agent/http-backend.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const { plane } = planeForFile();
let machine: UserMachine;
const elsewhere = folderForFile();
beforeAll(async () => {
  // Both the test and the job write to the state file.
  machine = await userMachine(plane, { agent: { WINDLASS_ISOLATION: "process" } });
});
afterAll(() => machine[Symbol.asyncDispose]());

test("a backend that was used is replaced by a managed state only after its state was pushed or a DESTROY", async () => {
  const { user } = machine;
  const state = join(elsewhere, "declared.tfstate");
  const resource = 'resource "terraform_data" "a" {}\n';
  const declared = `terraform {\n  backend "local" {\n    path = ${JSON.stringify(state)}\n  }\n}\n${resource}`;
  const sourceOf = (text: string) => ({ type: "inline" as const, files: { "main.tf": text } });
  const configuration_id = await user.configure({ source: sourceOf(declared) });
  const run = async (job_type: "PLAN" | "DEPLOY" | "DESTROY") =>
    user.released(await user.queue({ job_type, configuration_id }));
  const change = (body: object) =>
    user.client.call("updateConfiguration", { params: { name: configuration_id }, body });
  expect(await run("DEPLOY")).toMatchObject({ status: "SUCCESS" });
  const deployed = readFileSync(state, "utf8");

  await change({ source: sourceOf(resource) });
  for (const type of ["PLAN", "DEPLOY"] as const)
    expect(await run(type)).toMatchObject({
      status: "FAILED",
      error_message: expect.stringMatching(
        /no longer declare one.*--backend own.*--backend managed.*windlass state push/,
      ),
    });
  expect(readFileSync(state, "utf8")).toBe(deployed);

  // A choice alone would create everything a second time, and destroy nothing.
  await change({ backend: "managed" });
  for (const source of [resource, declared]) {
    await change({ source: sourceOf(source) });
    for (const type of ["PLAN", "DEPLOY", "DESTROY"] as const)
      expect(await run(type)).toMatchObject({
        status: "FAILED",
        error_message: expect.stringContaining("terraform state pull | windlass state push"),
      });
  }
  const pushed = await machine.run("state", "push", configuration_id, "--file", state);
  expect(pushed).toMatchObject({ exitCode: 0 });
  const planned = await run("PLAN");
  expect(planned).toMatchObject({ status: "SUCCESS", changes: { create: 0, delete: 0 } });

  // After a DESTROY the state is empty.
  const other = await user.configure({ name: "other", source: sourceOf(declared) });
  const runOther = async (job_type: "PLAN" | "DEPLOY" | "DESTROY") =>
    user.released(await user.queue({ job_type, configuration_id: other }));
  expect(await runOther("DESTROY")).toMatchObject({ status: "SUCCESS" });
  const body = { source: sourceOf(resource) };
  await user.client.call("updateConfiguration", { params: { name: other }, body });
  expect(await runOther("PLAN")).toMatchObject({ status: "SUCCESS" });
});

test("a state that could not be saved keeps other jobs from running until a person has stored it", async () => {
  const { stored, block } = await httpBackend(true);
  const directory = writeFiles(join(machine.path, "unsaved"), {
    "main.tf": `${block}resource "terraform_data" "a" {}\n`,
  });
  const failed = await machine.run("up", directory, "--yes");
  expect(failed).toMatchObject({ exitCode: 1 });
  const stderr = String(failed.stderr);
  expect(stderr).toMatch(
    /It has changed resources, and its state could not be saved\.\nThe state is locked/,
  );
  expect(stderr).toContain("(terraform state push FILE), then run: windlass state unlock unsaved");
  expect(stderr).not.toMatch(/Nothing is deployed|No resource was changed/);
  expect(failed.stdout).toMatch(/the state could not be saved and is kept on the runner as /);

  const refused = await machine.run("configurations", "delete", "unsaved", "--yes");
  expect(refused).toMatchObject({ exitCode: 1 });
  expect(refused.stderr).toContain("could not save its state");
  const planned = await machine.json<Job>("jobs", "plan", "unsaved");
  expect(planned.waiting_reason).toBe("state_locked");
  const waits = await machine.run("jobs", "show", planned.id);
  expect(waits.stdout).toMatch(
    /a job that could not save its state \([-\da-f]{36}\): store the state that its runner has kept, then unlock it: windlass configurations show unsaved/,
  );
  const shown = await machine.run("configurations", "show", "unsaved");
  const file = /kept on the runner as (\S+\.tfstate)/.exec(String(shown.stdout))?.[1] ?? "";
  expect(shown.stdout).toContain("which could not save its state. No state records");
  stored.isBroken = false;
  stored.text = readFileSync(file, "utf8");
  expect(await machine.run("state", "unlock", "unsaved", "--yes")).toMatchObject({ exitCode: 0 });
  expect(await machine.run("jobs", "logs", planned.id, "--follow")).toMatchObject({ exitCode: 0 });
  const again = await machine.run("up", directory, "--yes");
  expect(again.stdout).toContain("Plan: no changes");
  expect(again).toMatchObject({ exitCode: 0 });
});

test("ephemeral variables are passed to the apply of a plan and of a DEPLOY without a plan", async () => {
  const { user } = machine;
  const text = `
variable "token" {
  type      = string
  ephemeral = true
}
variable "spare" {
  type      = string
  default   = "unused"
  ephemeral = true
}
variable "own" {
  type      = string
  default   = "of the files"
  ephemeral = true
}
variable "of_file" {
  type      = string
  default   = "of the files"
  ephemeral = true
}
variable "size" {
  type = number
}
variable "shape" {
  type    = object({ a = number, b = optional(string, "b") })
  default = null
}
resource "terraform_data" "a" {
  input = [var.size, var.shape]
  provisioner "local-exec" {
    command     = "test $OWN,$FILE = given,given"
    environment = { OWN = var.own, FILE = var.of_file }
  }
}
output "size" {
  value = terraform_data.a.output[0]
}
`;
  const configuration_id = await user.configure({
    source: {
      type: "inline",
      files: { "main.tf": text, "a.vars": 'of_file = "given"\nelsewhere = 1\n' },
    },
    var_files: ["a.vars"],
    variables: {
      token: { value: "EPHEMERAL-token-1", sensitive: true },
      own: { value: "given" },
      size: { value: "3" },
      shape: { value: { a: "3", more: true } },
      undeclared: { value: 1 },
    },
  });
  const plan = await user.queue({ job_type: "PLAN", configuration_id });
  expect(await user.released(plan)).toMatchObject({ status: "SUCCESS" });
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, plan_job_id: plan.id });
  const deployed = { status: "SUCCESS", execution_metadata: { outputs: { size: { value: 3 } } } };
  expect(await user.released(deploy)).toMatchObject(deployed);
  const again = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect(await user.released(again)).toMatchObject(deployed);
  const destroy = await user.queue({ job_type: "DESTROY", configuration_id });
  expect(await user.released(destroy)).toMatchObject({ status: "SUCCESS" });
});

test("terraform gets backend settings, files of variables and environment secrets, and the log has no secret", async () => {
  const { user } = machine;
  const main = `
terraform {
  backend "local" {}
}
variable "region" {}
variable "size" {}
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "echo \${var.region} \${var.size} token=$MY_TOKEN"
  }
}
`;
  const state = join(elsewhere, "partial.tfstate");
  const configuration_id = await user.configure({
    source: {
      type: "inline",
      files: {
        "app/main.tf": main,
        "envs/a.tfvars": 'region = "from-a"\nsize = 1\n',
        "envs/b.tfvars.json": '{"region": "from-b", "size": 2}',
      },
    },
    working_directory: "app",
    variables: { size: { value: 3 } },
    var_files: ["envs/a.tfvars", "envs/b.tfvars.json"],
    backend_config: { path: state, workspace_dir: { value: "secret-folder", sensitive: true } },
    environment: { MY_TOKEN: "s3cret-of-env" },
    parallelism: 1,
  });
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect(await user.released(deploy)).toMatchObject({ status: "SUCCESS" });
  const log = await user.log(deploy);
  expect(log).toContain("from-b 3 token=");
  expect(log).not.toContain("s3cret-of-env");
  expect(readFileSync(state, "utf8")).toContain("terraform_data");

  const params = { name: configuration_id };
  await user.client.call("updateConfiguration", {
    params,
    body: { var_files: ["envs/no.tfvars"] },
  });
  const failed = await user.released(await user.queue({ job_type: "PLAN", configuration_id }));
  expect(failed).toMatchObject({
    status: "FAILED",
    error_message: expect.stringContaining('"envs/no.tfvars", which is not a regular file'),
  });
});

test("the runner's own file is the same in each job, for a configuration that lists its directory", async () => {
  const { user } = machine;
  const text = `
resource "terraform_data" "policies" {
  for_each = fileset(path.module, "*.json")
  input    = filesha256("\${path.module}/\${each.value}")
}
resource "terraform_data" "all" {
  input = [for file in fileset(path.module, "*") : "\${file} \${filesha256("\${path.module}/\${file}")}"]
}
`;
  const files = { "main.tf": text, "read.json": "{}", "write.json": "[]" };
  const configuration_id = await user.configure({ source: { type: "inline", files } });
  for (const create of [3, 0]) {
    const plan = await user.released(await user.queue({ job_type: "PLAN", configuration_id }));
    expect(plan).toMatchObject({ status: "SUCCESS", changes: { create, update: 0, delete: 0 } });
    if (create === 0) continue;
    const deploy = { job_type: "DEPLOY" as const, configuration_id, plan_job_id: plan.id };
    expect(await user.released(await user.queue(deploy))).toMatchObject({ status: "SUCCESS" });
  }
});
