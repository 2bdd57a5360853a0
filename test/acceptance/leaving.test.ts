/** docs/leaving.md: every command of the page, with a real runner and real terraform. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { shellBlocks } from "./documented-commands.ts";
import { asTyped } from "../helpers/agent/engines.ts";
import { httpBackend } from "../helpers/agent/http-backend.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { root } from "../helpers/project/source-files.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();
const blocks = shellBlocks(readFileSync(join(root, "docs/leaving.md"), "utf8"));
const [files = "", plan = "", forget = "", move = ""] = blocks;

it.each([
  { into: "a file", backend: async () => undefined, last: forget },
  {
    into: "a local backend",
    backend: async () => `terraform {
  backend "local" {
    path = "elsewhere/terraform.tfstate"
  }
}
`,
    last: move,
  },
  // Terraform gives a state that it migrates into it another lineage.
  { into: "a remote backend", backend: async () => (await httpBackend()).block, last: move },
])("the commands of the page take the state back into $into, and destroy nothing", async (page) => {
  await using ada = await userMachine(plane, { agent: true });
  await ada.ready();
  const directory = join(ada.path, "network");
  const kept = join(ada.path, "kept.txt");
  writeFiles(directory, {
    "main.tf": `
variable "size" { type = number }
variable "password" {
  type      = string
  sensitive = true
}
resource "terraform_data" "a" {
  input = var.size
  provisioner "local-exec" {
    when    = destroy
    command = "touch ${kept}"
  }
}
output "size" { value = terraform_data.a.output }
`,
  });
  const up = ["up", directory, "--var", "size=3", "--var", "password=open", "--yes"];
  expect(await ada.json<Job>(...up)).toMatchObject({ status: "SUCCESS", job_type: "DEPLOY" });
  const deployed = await ada.json<Configuration>("configurations", "show", "network");
  expect(deployed.deployed).toMatchObject({ resources: 1 });

  const shell = (line: string) =>
    execa("sh", ["-c", asTyped(line)], {
      cwd: directory,
      reject: false,
      all: true,
      stdin: "ignore",
      env: {
        ...ada.environment,
        PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
        CHECKPOINT_DISABLE: "1",
      },
    });
  const refused = await shell("windlass configurations delete network --yes");
  expect(refused).toMatchObject({ exitCode: 1 });
  expect(refused.all).toContain("--keep-resources FILE");
  // Without a terminal, these need the option.
  const answers = { "windlass configurations delete": "--yes", "-migrate-state": "-force-copy" };
  const type = async (block: string) => {
    const lines = block.trim().split("\n");
    for (const line of lines) {
      const needed = Object.entries(answers).filter(([part]) => line.includes(part));
      const typed = [line, ...needed.map(([, answer]) => answer)].join(" ");
      const { exitCode, all } = await shell(typed);
      expect({ typed, exitCode, all }).toMatchObject({ exitCode: 0 });
    }
    return lines.length;
  };
  expect(blocks).toHaveLength(4);
  expect([await type(files), await type(plan)]).toEqual([2, 2]);
  const backend = await page.backend();
  if (backend !== undefined) writeFiles(directory, { "backend.tf": backend });
  await type(page.last);
  expect(await ada.json<Configuration[]>("configurations", "list")).toEqual([]);
  expect((await shell("terraform output -raw size")).stdout).toBe("3");
  if (backend?.includes("http")) {
    const again = await ada.run(...up, "--backend", "own");
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.stdout).toContain("Plan: no changes");
  }
  expect(existsSync(kept)).toBe(false);
});

it("a configuration is not deleted with a file of an older or another state", async () => {
  await using ada = await userMachine(plane);
  const id = await ada.user.configure({ name: "network" });
  const file = (name: string, serial: number, lineage: string, resources: object[]) => {
    const path = join(ada.path, name);
    writeFileSync(path, JSON.stringify({ version: 4, serial, lineage, outputs: {}, resources }));
    return path;
  };
  const lineage = "0b1c7b0e-6f0e-4d1e-9a53-0d3d2f1c5a77";
  const resource = {
    mode: "managed",
    type: "terraform_data",
    name: "a",
    provider: 'provider["terraform.io/builtin/terraform"]',
    instances: [{ schema_version: 0, attributes: { id: "1" } }],
  };
  const newest = file("newest", 5, lineage, [resource]);
  expect(await ada.run("state", "push", id, "--file", newest)).toMatchObject({ exitCode: 0 });
  const remove = (path: string) =>
    ada.run("configurations", "delete", "network", "--keep-resources", path, "--yes");
  for (const [path, message] of [
    [
      file("older", 4, lineage, [resource]),
      /older" has the serial 4, and .* state has 5\. Nothing/,
    ],
    [
      file("other", 9, "another", []),
      /other" does not have the resources of the newest version of the state of "network"\. Nothing/,
    ],
    [
      join(ada.path, "missing"),
      /^windlass: The file of the saved state cannot be read: .*\. Nothing was deleted\. To save the state first: windlass state pull network > \S+missing$/,
    ],
  ] as const)
    expect((await remove(path)).stderr).toMatch(message);
  expect(await remove(newest)).toMatchObject({ exitCode: 0 });
});
