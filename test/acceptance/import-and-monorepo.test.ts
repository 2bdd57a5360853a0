/** What people bring with them: a monorepo, values in HCL, and a state of another backend. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { realTerraform } from "../helpers/agent/terraform.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import { bin } from "../helpers/cli/windlass.ts";

const { plane } = planeForFile();
let ada: UserMachine;
beforeAll(async () => {
  ada = await userMachine(plane, { agent: true });
});
afterAll(() => ada[Symbol.asyncDispose]());

test("windlass up deploys a directory of a monorepo with a .tfvars file and the modules beside it", async () => {
  const repository = writeFiles(join(ada.path, "repository"), {
    ".gitignore": "*.tfvars\n",
    "modules/names/main.tf": `
      variable "size" { type = number }
      output "names" { value = [for n in range(var.size) : "node-\${n}"] }
    `,
    "live/net/main.tf": `
      variable "size" { type = number }
      module "names" {
        source = "../../modules/names"
        size   = var.size
      }
      output "names" { value = module.names.names }
    `,
    "live/net/prod.tfvars": "size = 1 + 1\n",
    "unrelated/main.tf": "",
  });
  const directory = join(repository, "live/net");
  const options = ["--var-file", join(directory, "prod.tfvars"), "--timeout", "600"];
  const { exitCode, stdout, stderr } = await ada.run("up", directory, ...options, "--yes");
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  expect(stderr).toContain(`Uploading ${repository}; terraform runs in live/net.`);
  expect(stderr).toMatch(new RegExp(`^In the console: ${plane.url}/jobs/[0-9a-f-]{36}$`, "m"));
  expect(stdout).toContain('names  = ["node-0","node-1"]');
  const made = await ada.json<Configuration>("configurations", "show", "net");
  expect(made).toMatchObject({
    working_directory: "live/net",
    var_files: ["live/net/prod.tfvars"],
    timeout_seconds: 600,
  });
  // The next one needs no options.
  expect((await ada.run("up", directory)).stdout).toMatch(/^Plan: no changes\n\nOutputs:/m);
});

test("windlass state push takes over what terraform has deployed with another backend", async () => {
  const directory = writeFiles(join(ada.path, "existing"), {
    "main.tf": `
      resource "terraform_data" "a" { input = "kept" }
      output "a" { value = terraform_data.a.output }
    `,
  });
  const options = { cwd: directory, env: ada.environment };
  await execa(realTerraform(), ["init"], options);
  await execa(realTerraform(), ["apply", "-auto-approve"], options);
  expect(existsSync(join(directory, "terraform.tfstate"))).toBe(true);
  const create = await ada.run("configurations", "create", "--dir", directory);
  const file = join(directory, "terraform.tfstate");
  const push = `${file} is not used: a plan would create again what it records. To take it over before you deploy, run: windlass state push existing --file ${file}`;
  expect(create.stderr).toContain(push);
  const refused = await ada.run("up", directory, "--adopt", "--yes");
  expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
  expect(refused.stderr).toContain(`${push}\nNothing was planned.`);
  const queued = await ada.json<Job[]>("jobs", "list");
  expect(queued.map((one) => one.configuration_name)).not.toContain("existing");

  const unconfirmed = await ada.run("up", directory, "--adopt");
  expect(unconfirmed.stdout).toMatch(/is not used: a plan would create again[^\n]*\n?$/);

  const piped = `'${realTerraform()}' state pull | '${bin}' state push existing`;
  const pushed = await execa("sh", ["-c", piped], options);
  expect(pushed.stderr).toMatch(
    /^Serial \d+ is now the newest version of the state of "existing"\. It has 1 resource\.$/m,
  );
  const listed = await ada.run("state", "list", "existing");
  expect(listed.stdout).toBe("terraform_data.a");
  const shown = await ada.run("state", "show", "existing", "terraform_data.a");
  expect(shown.stdout).toMatch(/^# terraform_data\.a\nid +=/);
  expect(shown.stdout).toMatch(/^output +=  *"kept"$/m);
  const planned = await ada.run("jobs", "plan", "existing", "--wait");
  expect(planned.stdout).toMatch(/^Plan: no changes$/m);
  const [job] = await ada.json<Job[]>("jobs", "list");
  expect(job).toMatchObject({ job_type: "PLAN", status: "SUCCESS" });
  const imported = await ada.run("configurations", "show", "existing");
  expect(imported.stdout).toMatch(/^ *status +DEPLOYED$/im);
  const unchanged = await ada.run("up", directory, "--adopt", "--yes");
  expect(unchanged.stderr).not.toContain("state push");
  expect(unchanged.stderr).not.toContain("To record the outputs");
  expect(unchanged.stdout).toMatch(/^Outputs:\n +a +(= )?"?kept/m);

  const nothing = await execa(bin, ["state", "push", "existing"], {
    ...options,
    input: "",
    reject: false,
  });
  expect(nothing.exitCode).toBe(2);
  expect(nothing.stderr).toContain("Stdin is empty. There is no state to push.");
});
