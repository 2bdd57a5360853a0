/**
 * docs/moving-in.md: every command of the page in its order, with a real runner and a real terraform
 * that has deployed before.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { StateVersion } from "../../protocol/state-versions.ts";
import { shellBlocks } from "./documented-commands.ts";
import { asTyped } from "../helpers/agent/engines.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { root } from "../helpers/project/source-files.ts";
import { openProgram } from "../helpers/machine/terminal.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();
const blocks = shellBlocks(readFileSync(join(root, "docs/moving-in.md"), "utf8"));
const [local, scripted, keep, move, workspace, pass, passAgain, passSecret] = blocks;

let ada: UserMachine;
beforeEach(async () => {
  // The test and the job use one file as a backend.
  ada = await userMachine(plane, { agent: { WINDLASS_ISOLATION: "process" } });
  await ada.ready();
});
afterEach(() => ada[Symbol.asyncDispose]());

const environment = () => ({
  ...ada.environment,
  HOME: ada.path,
  PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
  CHECKPOINT_DISABLE: "1",
});

/** Runs a line where no question can be asked. */
const shell = (directory: string, line: string) =>
  execa("sh", ["-c", asTyped(line)], {
    cwd: directory,
    reject: false,
    all: true,
    stdin: "ignore",
    env: environment(),
  });

/** Runs a line that must succeed. */
async function run(directory: string, line: string): Promise<string> {
  const { exitCode, all } = await shell(directory, line);
  expect({ line, exitCode, all }).toEqual({ line, exitCode: 0, all });
  return all;
}

/** Runs a line in a terminal, answers n to its question, and returns its screen. */
async function decline(directory: string, line: string): Promise<string> {
  await using terminal = openProgram(["sh", "-c", asTyped(line)], environment(), directory);
  await Promise.race([terminal.shows("Deploy this plan? [y/N] "), terminal.exited]);
  terminal.type("n\n");
  const exitCode = await terminal.exited;
  expect({ line, exitCode, screen: terminal.screen() }).toMatchObject({ exitCode: 3 });
  return terminal.screen();
}

/** Runs a block of the page line by line. Returns what each line has printed. */
async function type(block: string | undefined, directory: string): Promise<string[]> {
  const printed: string[] = [];
  for (const line of (block ?? "").trim().split("\n")) {
    const isDeclined = /\s+# answer n$/.test(line);
    const typed = line.replace(/\s+#\s.*$/, "");
    printed.push(await (isDeclined ? decline(directory, typed) : run(directory, typed)));
  }
  return printed;
}

const configuration = (name: string) => ada.json<Configuration>("configurations", "show", name);
const destroyed = (directory: string): boolean => existsSync(join(directory, "destroyed"));

/** Writes files whose resource leaves a file when it is destroyed. */
function written(name: string, files: Record<string, string> = {}): string {
  const directory = join(ada.path, name);
  return writeFiles(directory, {
    "main.tf": `
resource "terraform_data" "a" {
  input = "kept"
  provisioner "local-exec" {
    when    = destroy
    command = "touch ${join(directory, "destroyed")}"
  }
}
output "vpc_id" { value = "vpc-\${terraform_data.a.output}" }
output "sizes" { value = [1, 9007199254740993] }
output "password" {
  value     = "hunter2-of-the-network"
  sensitive = true
}
`,
    ...files,
  });
}

/** Writes a directory that terraform deploys. */
async function deployed(
  name: string,
  files?: Record<string, string>,
  commands: readonly string[] = ["terraform apply -auto-approve"],
): Promise<string> {
  const directory = written(name, files);
  for (const command of ["terraform init", ...commands]) await run(directory, command);
  return directory;
}

async function deployedInBackend() {
  const state = join(ada.path, "bucket/terraform.tfstate");
  mkdirSync(join(state, ".."));
  const backend = `terraform {\n  backend "local" {\n    path = "${state}"\n  }\n}\n`;
  return { state, directory: await deployed("network", { "backend.tf": backend }) };
}

it("every block of the page is run here", () => {
  expect(blocks).toHaveLength(8);
});

describe("the commands of the page take over, without a change of a resource,", () => {
  it("a state in a local file", async () => {
    const directory = await deployed("network");
    const [first = "", , planned = "", last = ""] = await type(local, directory);
    expect(first).toMatch(/terraform\.tfstate is\s+not used/);
    expect(planned).toContain("Plan: no changes");
    expect(last).toContain("Plan: no changes");
    expect(last).toContain("vpc-kept");
    expect(await configuration("network")).toMatchObject({
      status: "DEPLOYED",
      state_backend: "managed",
    });
    expect(destroyed(directory)).toBe(false);
  });

  it("outputs of one configuration as variables of another", async () => {
    await run(written("network"), "windlass up --yes");
    const app = writeFiles(join(ada.path, "app"), {
      "main.tf": `
variable "vpc_id" {}
variable "sizes" {
  type = list(number)
}
variable "password" {
  default   = "none"
  sensitive = true
}
resource "terraform_data" "a" { input = "\${var.vpc_id}/\${var.sizes[1]}" }
output "all" { value = terraform_data.a.output }
output "length" { value = nonsensitive(length(var.password)) }
`,
    });
    expect((await shell(app, "windlass up --yes")).all).toContain('"vpc_id" is not set');
    await type(pass, app);
    expect(await run(app, "windlass up --yes")).toContain("vpc-kept/9007199254740993");
    await type(passAgain, app);
    await type(passSecret, app);
    const last = await run(app, "windlass up --yes");
    expect(last).toMatch(/length += 22$/m);
    expect(last).not.toContain("undeclared");
  });

  it("a state in a local file, from a script", async () => {
    const directory = await deployed("network");
    const printed = await type(scripted, directory);
    expect(printed.at(-1)).toContain("Plan: no changes");
    expect((await configuration("network")).origin).toBeDefined();
    expect(destroyed(directory)).toBe(false);
  });

  it("a backend that stays, and then moves to the control plane", async () => {
    const { directory } = await deployedInBackend();
    const [kept = ""] = await type(keep, directory);
    expect(kept).toContain("Plan: no changes");
    expect(await configuration("network")).toMatchObject({ state_backend: "own" });

    await type(move, directory);
    rmSync(join(directory, "backend.tf"));
    expect(await run(directory, "windlass up --yes")).toContain("Plan: no changes");
    expect(await configuration("network")).toMatchObject({ state_backend: "managed" });
    expect(destroyed(directory)).toBe(false);
  });

  it("a state in a backend that Windlass has never used", async () => {
    const { directory } = await deployedInBackend();
    expect(await decline(directory, "windlass up --backend managed")).toContain("1 to add");
    const [, , planned] = await type(move, directory);
    expect(planned).toContain("Plan: no changes");
    expect(destroyed(directory)).toBe(false);
  });

  it("a state of a workspace", async () => {
    const directory = await deployed(
      "app",
      {
        "variables.tf": `
variable "environment" { default = "" }
output "environment" { value = var.environment }
`,
      },
      ["terraform workspace new staging", "terraform apply -auto-approve -var environment=staging"],
    );
    const [, , , last = ""] = await type(workspace, directory);
    expect(last).toContain("Plan: no changes");
    expect(destroyed(directory)).toBe(false);
    writeFiles(directory, { "more.tf": `output "workspace" { value = terraform.workspace }\n` });
    const up = await run(directory, "TF_VAR_environment=x windlass up --name app-staging --yes");
    expect(up).toMatch(/workspace += default$/m);
    expect(up).toMatch(/environment += staging$/m);
    expect(up).toContain("Of this shell, TF_VAR_environment is not used.");
    const refused = await shell(
      directory,
      "windlass up --name app-staging --env TF_WORKSPACE=staging",
    );
    expect(refused).toMatchObject({ exitCode: 1 });
    expect(refused.all).toContain("TF_WORKSPACE may not be set");
  });
});

describe("terraform_remote_state", () => {
  const reader = (backend: string, config: string) => `
data "terraform_remote_state" "network" {
  backend = "${backend}"
  config  = ${config}
}
output "vpc_id" { value = data.terraform_remote_state.network.outputs.vpc_id }
`;

  it("reads another state from a backend that the job can reach", async () => {
    const { state } = await deployedInBackend();
    const directory = join(ada.path, "reader");
    writeFiles(directory, { "main.tf": reader("local", `{ path = "${state}" }`) });
    expect(await run(directory, "windlass up --yes")).toContain("vpc-kept");
  });

  it("does not read the state that the control plane keeps of another configuration", async () => {
    await run(written("network"), "windlass up --yes");
    const { id } = await configuration("network");
    const directory = join(ada.path, "reader-of-managed");
    const address = `{ address = "${plane.url}/api/state/${id}" }`;
    writeFiles(directory, { "main.tf": reader("http", address) });
    const { exitCode, all } = await shell(directory, "windlass up --yes");
    expect(exitCode).toBe(1);
    expect(all).toMatch(/HTTP remote state endpoint requires auth|401/);
  });
});

it("a state that terraform has changed on this machine can be pushed back", async () => {
  const directory = written("network");
  await run(directory, "windlass up --yes");
  await run(directory, "windlass state pull network > s.tfstate");
  await run(directory, "terraform state rm -state=s.tfstate terraform_data.a");
  await run(directory, "windlass state push network --file s.tfstate");
  const [newest] = await ada.json<StateVersion[]>("state", "versions", "network");
  expect(newest).toMatchObject({ resources: 0 });
});
