/** Backends, ephemeral variables and files of variables, with a real agent and terraform. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../../protocol/endpoints.ts";
import { userMachine, type UserMachine } from "../helpers/user-machine.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";
import { folderForFile } from "../helpers/folders.ts";

const { plane } = planeForFile();
let machine: UserMachine;
const elsewhere = folderForFile();
beforeAll(async () => {
  // Both the test and the job write to the state file.
  machine = await userMachine(plane, { agent: { WINDLASS_ISOLATION: "process" } });
});
afterAll(() => machine[Symbol.asyncDispose]());

describe("a configuration that declares a backend, without a choice", () => {
  const files = () => ({
    "main.tf": `
terraform {
  backend local {
    path = ${JSON.stringify(join(elsewhere, "terraform.tfstate"))}
  }
}
resource "terraform_data" "a" {}
`,
  });

  test("uses its existing state until a managed backend is chosen, which the log reports", async () => {
    const { user } = machine;
    writeFileSync(join(elsewhere, "main.tf"), files()["main.tf"]);
    for (const args of [["init"], ["apply", "-auto-approve"]])
      await execa("terraform", args, { cwd: elsewhere, env: { CHECKPOINT_DISABLE: "1" } });

    const configuration_id = await user.configure({ source: { type: "inline", files: files() } });
    const creates = async () => {
      const plan = await user.queue({ job_type: "PLAN", configuration_id });
      expect(await user.released(plan)).toMatchObject({ status: "SUCCESS" });
      const { plan_summary } = await user.call(endpoints.getPlanSummary, { params: plan });
      return [plan_summary?.counts.create, await user.log(plan, "SYSTEM")];
    };
    expect(await creates()).toEqual([0, expect.stringContaining("--backend managed")]);

    const params = { name: configuration_id };
    const body = { backend: "managed" as const };
    await user.call(endpoints.updateConfiguration, { params, body });
    expect(await creates()).toEqual([1, expect.stringContaining("is not used")]);
  });

  test("is FAILED with what to do when its state would be lost with the workspace", async () => {
    const { user } = machine;
    const text = 'terraform {\n  backend "local" {}\n}\n';
    const configuration_id = await user.configure({
      source: { type: "inline", files: { "main.tf": text } },
    });
    const plan = await user.released(await user.queue({ job_type: "PLAN", configuration_id }));
    expect(plan.status).toBe("FAILED");
    expect(plan.error_message).toContain("Choose a backend: --backend managed");
  });
});

test("a backend that is no longer declared is replaced by a managed state only after a choice or a DESTROY", async () => {
  const { user } = machine;
  const state = join(elsewhere, "declared.tfstate");
  const resource = 'resource "terraform_data" "a" {}\n';
  const declared = `terraform {\n  backend "local" {\n    path = ${JSON.stringify(state)}\n  }\n}\n${resource}`;
  const sourceOf = (text: string) => ({ type: "inline" as const, files: { "main.tf": text } });
  const configuration_id = await user.configure({ source: sourceOf(declared) });
  const run = async (job_type: "PLAN" | "DEPLOY" | "DESTROY") =>
    user.released(await user.queue({ job_type, configuration_id }));
  const change = (body: object) =>
    user.call(endpoints.updateConfiguration, { params: { name: configuration_id }, body });
  expect(await run("DEPLOY")).toMatchObject({ status: "SUCCESS" });
  const deployed = readFileSync(state, "utf8");

  await change({ source: sourceOf(resource) });
  for (const type of ["PLAN", "DEPLOY"] as const)
    expect(await run(type)).toMatchObject({
      status: "FAILED",
      error_message: expect.stringMatching(
        /no longer declare one.*--backend managed .*--backend own/,
      ),
    });
  expect(readFileSync(state, "utf8")).toBe(deployed);

  // A user may choose. After a DESTROY the state is empty.
  await change({ backend: "managed" });
  expect(await run("PLAN")).toMatchObject({ status: "SUCCESS" });
  await change({ backend: null, source: sourceOf(declared) });
  expect(await run("DESTROY")).toMatchObject({ status: "SUCCESS" });
  await change({ source: sourceOf(resource) });
  expect(await run("PLAN")).toMatchObject({ status: "SUCCESS" });
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
variable "size" {
  type = number
}
resource "terraform_data" "a" {
  input = var.size
}
output "size" {
  value = terraform_data.a.output
}
`;
  const configuration_id = await user.configure({
    source: { type: "inline", files: { "main.tf": text } },
    variables: {
      token: { value: "EPHEMERAL-token-1", sensitive: true },
      size: { value: "3" },
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
  await user.call(endpoints.updateConfiguration, {
    params,
    body: { var_files: ["envs/no.tfvars"] },
  });
  const failed = await user.released(await user.queue({ job_type: "PLAN", configuration_id }));
  expect(failed).toMatchObject({
    status: "FAILED",
    error_message: expect.stringContaining('"envs/no.tfvars", which is not a regular file'),
  });
});
