/** When the files that `windlass up` plans become those of its configuration. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

describe.concurrent("the files of windlass up", () => {
  test("makes files that change nothing now the source of later jobs", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const files = (provisioner = "") => ({
      "main.tf": `resource "terraform_data" "a" {\n${provisioner}}\noutput "b" { value = "c" }\n`,
    });
    const directory = writeFiles(join(ada.path, "kept"), files());
    const up = (...words: string[]) => ada.run("up", directory, ...words);
    expect(await up("--yes")).toMatchObject({ exitCode: 0 });
    writeFiles(
      directory,
      files('  provisioner "local-exec" {\n    when = destroy\n    command = "echo SAVED"\n  }\n'),
    );
    const before = await ada.json<Configuration>("configurations", "show", "kept");
    const piped = await up();
    expect(piped).toMatchObject({ exitCode: 0 });
    expect(piped.stdout).toMatch(/^Plan: no changes\n\nOutputs:\n {2}b +(= )?"?c/m);
    expect(piped.stderr).toMatch(
      /changes no resource, and makes these files the source of later jobs\. Pass --yes for that, or run: windlass jobs deploy --plan \S+ --wait$/,
    );
    const { source } = await ada.json<Configuration>("configurations", "show", "kept");
    expect(source).toEqual(before.source);

    const confirmed = await up("--yes", "--json");
    expect(confirmed).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(confirmed.stdout as string)).toMatchObject({
      job_type: "DEPLOY",
      status: "SUCCESS",
      execution_metadata: { outputs: { b: { value: "c" } } },
    });
    const count = async () => (await ada.json<Job[]>("jobs", "list")).length;
    const jobs = await count();
    const same = await up("--yes");
    expect(same.stdout).not.toContain("A deployment of this plan");
    expect(await count()).toBe(jobs + 1);
    const destroyed = await ada.run("jobs", "destroy", "kept", "--yes", "--wait");
    expect(destroyed.stdout).toContain("SAVED");
  });

  test("gives other jobs no variable file before it is deployed", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const directory = writeFiles(join(ada.path, "varied"), {
      "main.tf": 'variable "a" { default = "b" }\noutput "a" { value = var.a }\n',
    });
    expect(await ada.run("up", directory, "--yes")).toMatchObject({ exitCode: 0 });
    const file = join(directory, "new.tfvars");
    writeFileSync(file, 'a = "c"\n');
    const refused = await ada.run("up", directory, "--var-file", file);
    expect(refused).toMatchObject({ exitCode: 3 });
    expect(refused.stderr).toContain("takes these over only with a deployment: files, var files.");
    expect(await ada.run("jobs", "plan", "varied", "--wait")).toMatchObject({ exitCode: 0 });
    const before = await ada.json<Configuration>("configurations", "show", "varied");
    expect(before).not.toHaveProperty("var_files");
    const deployed = await ada.run("up", directory, "--var-file", file, "--yes");
    expect(deployed).toMatchObject({ exitCode: 0 });
    expect(deployed.stdout).toMatch(/^ *a += c$/m);
    const after = await ada.json<Configuration>("configurations", "show", "varied");
    expect(after).toMatchObject({ var_files: ["new.tfvars"] });
    // Another checkout lacks the file, for example because it is in .gitignore.
    renameSync(file, `${file}.other`);
    const lacking = await ada.run("up", directory, "--yes");
    expect(lacking).toMatchObject({ exitCode: 2 });
    expect(lacking.stderr).toContain(`reads variables from new.tfvars, which is not in`);
    const without = await ada.run("up", directory, "--source-var-file", "", "--yes");
    expect(without).toMatchObject({ exitCode: 0 });
    // Other options change the configuration at once.
    const declined = await ada.run("up", directory, "--var", "a=d");
    expect(declined).toMatchObject({ exitCode: 3 });
    expect(declined.stderr).toContain('"varied" keeps what this command has changed: variables.');
    const repeated = await ada.run("up", directory, "--var", "a=d");
    expect(repeated.stderr).not.toContain("keeps what this command has changed");
    const secret = (input: string) =>
      windlass(["up", directory, "--sensitive", "a"], {
        env: ada.environment,
        input,
      });
    await secret("a first secret");
    // No response shows that it is another one.
    expect((await secret("a second secret")).stderr).toContain(
      '"varied" keeps what this command has changed: variables.',
    );
  });

  test("keeps the files of the last plan of what was never deployed", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const directory = writeFiles(join(ada.path, "moved"), {
      "main.tf": 'variable "a" {}\noutput "a" { value = var.a }\n',
      ".gitignore": "*.tfvars\n",
      "prod.tfvars": 'a = "b"\n',
    });
    expect(await ada.run("up", directory)).toMatchObject({ exitCode: 1 });
    const file = join(directory, "prod.tfvars");
    expect(await ada.run("up", directory, "--var-file", file)).toMatchObject({ exitCode: 3 });
    expect(await ada.run("jobs", "plan", "moved", "--wait")).toMatchObject({ exitCode: 0 });
    // A state that a user pushed is no deployment.
    const state = { version: 4, terraform_version: "1.0.0", serial: 1, lineage: "moved" };
    const pushed = writeFiles(ada.path, {
      "pushed.tfstate": JSON.stringify({ ...state, outputs: {}, resources: [] }),
    });
    const push = ["state", "push", "moved", "--file", join(pushed, "pushed.tfstate")];
    expect(await ada.run(...push)).toMatchObject({ exitCode: 0 });
    writeFileSync(join(directory, "later.tfvars"), 'a = "c"\n');
    const later = join(directory, "later.tfvars");
    expect(await ada.run("up", directory, "--var-file", later)).toMatchObject({ exitCode: 3 });
    expect(await ada.json("configurations", "show", "moved")).toMatchObject({
      var_files: ["later.tfvars"],
    });
    const again = await ada.run("up", directory, "--yes");
    expect(again.stdout).toMatch(/^ *a += c$/m);
  });
});
