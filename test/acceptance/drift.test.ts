/** Drift checks by the client, with a real runner, terraform and (as a script) OpenTofu. */
import { writeFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { testEngines, bothEngines } from "../helpers/agent/terraform.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();
const folder = folderForFile();
let machine: UserMachine;
beforeAll(async () => {
  const agent = (directory: string) => {
    const { WINDLASS_JOB_PATHS: bin, ...settings } = bothEngines(directory);
    return { ...settings, WINDLASS_JOB_PATHS: [bin, folder].filter(Boolean).join() };
  };
  machine = await userMachine(plane, { agent });
});
afterAll(() => machine[Symbol.asyncDispose]());

const main = `
variable "file" { type = string }
resource "terraform_data" "one" { input = "one" }
output "content" { value = file(var.file) }
`;

describe.each(testEngines)("drift with %s", (engine) => {
  test("is checked, and what a check planned is accepted or put back", async () => {
    const name = `drift of ${engine}`;
    const file = join(folder, `${engine}.txt`);
    writeFileSync(file, "first");
    const source = { type: "inline" as const, files: { "main.tf": main } };
    const variables = { file: { value: file } };
    const spec = await machine.user.configure({ name, engine, source, variables });
    const read = () => machine.json<Configuration>("configurations", "show", name);
    const check = () => machine.run("drift", "check", name, "--wait");
    const never = await machine.run("drift", "check", name);
    expect(never).toMatchObject({ exitCode: 1 });
    expect(never.stderr).toContain("is not deployed: deploy it");
    await machine.json("jobs", "deploy", name, "--wait");
    // What is not deployed yet is no drift.
    const next = { type: "inline" as const, files: { "main.tf": "this is no terraform" } };
    const body = { source: next };
    await machine.user.client.call("updateConfiguration", { params: { name: spec }, body });

    expect(await check()).toMatchObject({ exitCode: 0 });
    expect(await read()).toMatchObject({ status: "DEPLOYED", drift: { status: "in_sync" } });

    // Outputs are no resources, but the plan of the check can be deployed.
    writeFileSync(file, "second");
    expect(await check()).toMatchObject({ exitCode: 0 });
    const { drift } = await read();
    const plan = drift?.job_id ?? "";
    const accepted = await machine.json<Job>("jobs", "deploy", "--plan", plan, "--wait");
    expect(accepted).toMatchObject({
      status: "SUCCESS",
      deployed: true,
      plan_options: { refresh_only: true },
    });
    expect(await read()).toMatchObject({
      status: "DEPLOYED",
      source: next,
      components: [{ name: "content", value: "second" }],
      drift: { status: "in_sync", job_id: accepted.id },
    });

    const nothing = await machine.run("drift", "accept", name);
    expect(nothing).toMatchObject({ exitCode: 1 });
    expect(nothing.stderr).toContain("has no drift to accept");

    const back = await machine.json<Job>("drift", "put-back", name, "--wait");
    expect(back).toMatchObject({ status: "SUCCESS", deployed: true, plan_options: null });

    rmSync(file);
    const failed = await check();
    expect(failed).toMatchObject({ exitCode: 1 });
    expect(await read()).toMatchObject({ status: "DEPLOYED", drift: { status: "failed" } });
    expect(await machine.run("drift", "show", name)).toMatchObject({ exitCode: 1 });
    expect(String((await machine.run("drift", "list")).stderr)).toContain("has drifted");
    const list = await machine.run("configurations", "list", "--drift", "failed");
    expect(list.stdout).toContain(name);
  });
});
