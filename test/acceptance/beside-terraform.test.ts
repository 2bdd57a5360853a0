/**
 * Configurations through `windlass up` and through terraform alone: the same changes, the same
 * outputs, and in a failure terraform's own words with file and line.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { copyFixture, writeFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { root } from "../helpers/project/source-files.ts";
import { realTerraform } from "../helpers/agent/terraform.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();
let machine: UserMachine;
beforeAll(async () => {
  machine = await userMachine(plane, { agent: { WINDLASS_CONCURRENCY: "2" } });
});
afterAll(() => machine[Symbol.asyncDispose]());

/** Puts the files of a configuration into a directory. */
type Files = (folder: string) => unknown;

const fixture =
  (name: string, variables: Record<string, unknown> = {}): Files =>
  (folder) =>
    writeFiles(copyFixture(name, folder), {
      "test.auto.tfvars.json": JSON.stringify(variables),
    });

const files =
  (given: Record<string, string>): Files =>
  (folder) =>
    writeFiles(folder, given);

/** Terraform alone, with its state in the directory. */
function terraformIn(folder: string) {
  const run = (...words: string[]) =>
    execa(realTerraform(), words, {
      cwd: folder,
      reject: false,
      env: { TF_IN_AUTOMATION: "1", CHECKPOINT_DISABLE: "1", NO_COLOR: "1" },
    });
  const json = async (...words: string[]) => JSON.parse((await run(...words)).stdout) as unknown;
  return { run, json };
}

interface PlanJson {
  readonly resource_changes?: readonly { readonly change: { readonly actions: string[] } }[];
}

/** Counts a plan's changes as the summary of a job does. */
function countsOf(plan: PlanJson): Record<string, number> {
  const counts = { create: 0, update: 0, delete: 0, replace: 0 };
  for (const { change } of plan.resource_changes ?? []) {
    const action = change.actions.length > 1 ? "replace" : (change.actions[0] ?? "");
    if (action in counts) counts[action as keyof typeof counts] += 1;
  }
  return counts;
}

/** Ids of resources are random. */
const withoutIds = (outputs: unknown): unknown =>
  JSON.parse(
    JSON.stringify(outputs).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "id"),
  );

describe.concurrent("the same changes and outputs as terraform alone:", () => {
  test.each<[string, Files]>([
    ["modules, for_each and a sensitive output", fixture("success-cluster")],
    [
      "the sample",
      (folder) => cpSync(join(root, "samples/hello-cluster"), folder, { recursive: true }),
    ],
    ["sensitive values within outputs", fixture("sensitive-outputs")],
    ["a module that may be destroyed alone", fixture("worker-destroy")],
    ["60 resources", fixture("many-resources", { n: 60 })],
    ["awkward output of a provisioner", fixture("chatty", { lines: 50 })],
    ["a provisioner that takes a second", fixture("long-running", { seconds: 1 })],
    [
      "JSON syntax, an override and values in files",
      files({
        "main.tf.json": JSON.stringify({
          variable: { name: { type: "string" }, tags: { type: "map(string)", default: {} } },
          resource: { terraform_data: { one: { input: "${var.name}" } } },
          output: {
            name: { value: "${terraform_data.one.output}" },
            tags: { value: "${var.tags}" },
          },
        }),
        "override.tf": 'variable "tags" {\n  default = { team = "network" }\n}\n',
        "terraform.tfvars": 'name = "über ünïcode"\n',
      }),
    ],
    [
      "types, conditions, checks and a locals file",
      files({
        "locals.tf": "locals {\n  sizes = { small = 1, large = 2.5 }\n  nothing = null\n}\n",
        "main.tf": `
resource "terraform_data" "sized" {
  for_each = local.sizes
  input    = each.value
  lifecycle {
    precondition {
      condition     = each.value > 0
      error_message = "A size is above 0."
    }
  }
}
resource "terraform_data" "counted" {
  count            = 2
  triggers_replace = [for one in terraform_data.sized : one.output]
}
check "names" {
  assert {
    condition     = length(local.sizes) > 5
    error_message = "There are few sizes."
  }
}
output "sizes" {
  value = { for key, one in terraform_data.sized : key => one.output }
}
output "list" {
  value = [true, null, 1e10, "line\\nbreak", ""]
}
output "nothing" {
  value = local.nothing
}
`,
      }),
    ],
    ["no resources", files({ "main.tf": 'output "only" {\n  value = "text"\n}\n' })],
  ])("%s", async (name, put) => {
    const folder = (kind: string) => join(machine.path, `${kind}-${name.replaceAll(/\W/g, "-")}`);
    put(folder("alone"));
    put(folder("up"));
    const alone = terraformIn(folder("alone"));
    await alone.run("init", "-input=false");
    expect(await alone.run("plan", "-input=false", "-out=plan")).toMatchObject({ exitCode: 0 });
    const counts = countsOf((await alone.json("show", "-json", "plan")) as PlanJson);
    expect(await alone.run("apply", "-input=false", "plan")).toMatchObject({ exitCode: 0 });
    const outputs = (await alone.json("output", "-json")) as Record<
      string,
      { sensitive: boolean; type: unknown; value?: unknown }
    >;
    // A control plane never gets a sensitive value.
    for (const output of Object.values(outputs)) if (output.sensitive) delete output.value;

    const up = async () => machine.json<Job>("up", folder("up"), "--name", name, "--yes");
    const deployed = await up();
    expect(deployed).toMatchObject({ status: "SUCCESS", job_type: "DEPLOY" });
    expect(withoutIds(deployed.execution_metadata?.outputs)).toEqual(withoutIds(outputs));
    const { user } = machine;
    const { plan_summary } = await user.client.call("getPlanSummary", {
      params: { id: deployed.plan_job_id ?? "" },
    });
    expect(plan_summary?.counts).toMatchObject(counts);

    // Both find nothing to do afterwards, or both find something.
    const again = await alone.run("plan", "-input=false", "-detailed-exitcode");
    expect((await up()).job_type).toBe(again.exitCode === 0 ? "PLAN" : "DEPLOY");
  });
});

describe.concurrent("a failure is reported with terraform's words:", () => {
  test.each<[string, Files]>([
    ["a plan that fails", fixture("fail-plan")],
    ["an apply that fails half-way", fixture("fail-apply-half")],
    [
      "a syntax error",
      files({ "main.tf": 'output "a" {\n  value = 1\n}\n\noutput "b" {\n  value = [1,\n}\n' }),
    ],
    [
      "a reference that does not exist",
      files({ "network.tf": 'output "b" {\n  value = local.missing\n}\n' }),
    ],
    ["a variable without a value", files({ "main.tf": 'variable "region" {}\n' })],
    [
      "a failed precondition",
      files({
        "main.tf":
          'variable "size" {\n  default = 1\n}\n\nresource "terraform_data" "a" {\n  lifecycle {\n    precondition {\n      condition     = var.size > 2\n      error_message = "A size is above two."\n    }\n  }\n}\n',
      }),
    ],
  ])("%s", async (name, put) => {
    const folder = (kind: string) => join(machine.path, `${kind}-${name.replaceAll(/\W/g, "-")}`);
    put(folder("alone"));
    put(folder("up"));
    const alone = terraformIn(folder("alone"));
    const init = await alone.run("init", "-input=false");
    const plan = await alone.run("plan", "-input=false", "-out=plan");
    const apply = await alone.run("apply", "-input=false", "plan");
    const failed = [init, plan, apply].find(({ exitCode }) => exitCode !== 0);
    const stderr = stripVTControlCharacters(failed?.stderr ?? "");
    // The last one: before a syntax error comes one that only says that there are errors.
    const error = [...stderr.matchAll(/Error: (.+)/g)].at(-1)?.[1] ?? "no error";
    const [, file, line] = /on (\S+) line (\d+)/.exec(stderr) ?? [];

    const up = await machine.run("up", folder("up"), "--name", name, "--yes");
    expect(up.exitCode).toBe(1);
    const configuration = await machine.json<Configuration>("configurations", "show", name);
    const { jobs } = await machine.user.client.call("listJobs");
    const job = jobs.find(({ configuration_id }) => configuration_id === configuration.id);
    expect(job).toMatchObject({ status: "FAILED", log_complete: true });
    const made = configuration.deployed?.resources ?? 0;
    expect(made > 0).toBe(name === "an apply that fails half-way");
    const said = job?.error_message ?? "";
    expect(said).toContain(error.slice(0, 60));
    expect(said).toContain(`${file}:${line}: `);
  });
});
