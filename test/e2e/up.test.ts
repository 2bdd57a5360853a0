/** `windlass up` from the sign-in to the outputs, with a real runner and terminal. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { Configuration, Zone } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { writeLink } from "../../cli/up/origin.ts";
import { waitingWords } from "../../protocol/waiting-words.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { copyFixture, writeFiles } from "../helpers/agent/fixtures.ts";
import { isolationForHeldApply } from "../helpers/agent/held-apply.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { root } from "../helpers/project/source-files.ts";
import { openTerminal, wide } from "../helpers/machine/terminal.ts";
import { recordUp } from "../helpers/cli/up-session.ts";

const { plane } = planeForFile();

/** A line without codes, ids, versions, times and the isolation level, which vary. */
const shapeOf = (line: string): string =>
  line
    .replace(/device_code=\S+/, "device_code=…")
    .replace(/\/jobs\/\S+/, "/jobs/…")
    .replace(/(shown in the browser: )\S+/, "$1…")
    .replace(/after .+\.$/, "after ….")
    .replace(/^(✓ .+ )[\d.]+m?s?( \ds)?$/, "$1…")
    .replaceAll(/\d+/g, "0");

const directoryIn = (path: string): string => copyFixture("success-cluster", join(path, "network"));

describe.concurrent("windlass up", () => {
  test("deploys a directory as docs/up.md shows, from the sign-in to the outputs (npm run up-docs writes it)", async () => {
    const { transcript, terraform } = await recordUp(plane);
    expect(transcript).toContain("Signed in to http://127.0.0.1:8080 as ada@example.com");
    expect(transcript).toMatch(/^Configuration "hello-cluster" created in zone "default"\.$/m);
    expect(transcript).toMatch(/^Plan: 7 to add$[\s\S]*^Deploy this plan\? \[y\/N\] y$/m);
    expect(transcript).toMatch(/^✓ apply +[\d.]+s\n\nOutputs:$/m);
    expect(transcript).toMatch(/^Outputs:\n.*\n {2}cluster_name +.*= hello$/m);
    expect(transcript).toMatch(/^✓ Deployed "hello-cluster" in \w+$/m);
    expect(transcript).not.toMatch(/wlw_|wlr_|eyJ|Apply complete!/);

    // The output of terraform depends on its version. That of the client and the runner does not.
    const shapes = (text: string): string[] => text.split("\n").map(shapeOf);
    // The speed of the machine decides which waits and which messages about long steps appear.
    // Their ends name workers and jobs.
    const waits = Object.values(waitingWords).map((words) => `: ${words.slice(0, 20)}`);
    const isWait = (line: string): boolean =>
      waits.some((words) => line.includes(words)) ||
      /^• looking for \w+ on this machine/.test(line);
    const own = transcript.split("\n").filter((line) => !terraform.has(line) && !isWait(line));
    expect(own.length).toBeGreaterThan(20);
    const written = new Set(shapes(readFileSync(join(root, "docs/up.md"), "utf8")));
    expect(shapes(own.join("\n")).filter((line) => !written.has(line))).toEqual([]);
  });

  test("creates nothing if the directory is not there", async () => {
    await using ada = await userMachine(plane, {});
    const typo = await ada.run("up", join(ada.path, "netwrok"), "--zone", "new");
    expect(typo).toMatchObject({ exitCode: 2 });
    expect(typo.stderr).toContain("there is no such file or directory");
    expect(typo.stderr).not.toContain("created");
    const zones = await ada.json<Zone[]>("zones", "list");
    expect(zones.map(({ name }) => name)).toEqual(["zone"]);
    for (const option of ["--name", "--zone"]) {
      const empty = await ada.run("up", directoryIn(ada.path), option, "");
      expect(empty).toMatchObject({ exitCode: 2, stdout: "" });
      expect(empty.stderr).toContain(`${option} is empty. Pass a name, or leave it out.`);
    }
    // The directory is checked before the user is asked to choose between zones.
    await ada.json("zones", "create", "second");
    const unchosen = await ada.run("up", join(ada.path, "netwrok"));
    expect(unchosen.stderr).toContain("there is no such file or directory");
    const empty = writeFiles(join(ada.path, "empty"), { "readme.md": "" });
    expect((await ada.run("up", empty)).stderr).toContain("has no .tf files");
    expect((await ada.run("up", directoryIn(ada.path))).stderr).toContain("Pass --zone");
  });

  test("commands at the same time share the zone and the configuration that they create", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const text = 'resource "terraform_data" "a" {}\n';
    const directories = ["a", "b", "c", "c", "c"].map((name) =>
      writeFiles(join(ada.path, name), { "main.tf": text }),
    );
    const up = (directory: string) =>
      ada.run("up", directory, "--zone", "new", "--yes", "--no-wait");
    for (const { exitCode, stderr } of await Promise.all(directories.map(up)))
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const zones = await ada.json<Zone[]>("zones", "list");
    expect(zones.filter(({ name }) => name === "new")).toHaveLength(1);
    const configurations = await ada.json<Configuration[]>("configurations", "list");
    expect(configurations.map(({ name }) => name).toSorted()).toEqual(["a", "b", "c"]);
    // The directory is that of the configuration.
    expect(await up(join(ada.path, "c"))).toMatchObject({ exitCode: 0 });
    // It moves no configuration to another zone.
    const elsewhere = await ada.run("up", join(ada.path, "c"), "--zone", "other");
    expect(elsewhere).toMatchObject({ exitCode: 2 });
    expect(elsewhere.stderr).toMatch(
      /"c" is in the zone "new", not in "other"\. To create another .* pass another --name\..* configurations update c --zone other$/m,
    );
  });

  test("prints the outputs of a deployment that it waited for", async () => {
    await using ada = await userMachine(plane, { agent: isolationForHeldApply });
    const gate = join(ada.path, "gate");
    const command = `while [ -e '${gate}' ]; do sleep 0.05; done`;
    const directory = writeFiles(join(ada.path, "sized"), {
      "main.tf": `variable "size" { type = number }
        resource "terraform_data" "a" {
          triggers_replace = var.size
          provisioner "local-exec" { command = ${JSON.stringify(command)} }
        }
        output "size" { value = var.size }`,
    });
    const up = (...words: string[]) => ada.run("up", directory, "--yes", ...words);
    expect((await up("--var", "size=1")).stdout).toMatch(/^Outputs:\n {2}size += 1$/m);
    writeFileSync(gate, "");
    const larger = up("--var", "size=2");
    await until(() => processesOf(gate).some((line) => line.includes("sleep")));
    const same = up();
    await vi.waitUntil(
      async () => (await ada.json<Job[]>("jobs", "list", "--status", "QUEUED")).length > 0,
      { timeout: 60_000 },
    );
    rmSync(gate);
    expect(await larger).toMatchObject({ exitCode: 0 });
    expect((await same).stdout).toMatch(/^Plan: no changes\n\nOutputs:\n {2}size += 2$/m);
  });

  test("refuses to deploy a directory a second time after it was renamed", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const files = { "main.tf": 'resource "terraform_data" "a" {}\n' };
    const directory = writeFiles(join(ada.path, "old name"), files);
    expect(await ada.run("up", directory, "--yes")).toMatchObject({ exitCode: 0 });
    const renamed = join(ada.path, "new");
    renameSync(directory, renamed);
    const second = await ada.run("up", renamed, "--yes");
    expect(second).toMatchObject({ exitCode: 2, stdout: "" });
    expect(second.stderr).toContain(
      `was deployed as "old name". Pass --name 'old name' to deploy that again, or --name new to create everything a second time.`,
    );
    // There is nothing of this name to adopt.
    const adopting = await ada.run("up", renamed, "--yes", "--adopt");
    expect(adopting).toMatchObject({ exitCode: 2, stdout: "" });
    const again = await ada.run("up", renamed, "--yes", "--name", "old name");
    expect(again.stdout).toContain("Plan: no changes");
    const other = writeFiles(join(ada.path, "other", "new"), files);
    expect(await ada.run("up", other, "--yes")).toMatchObject({ exitCode: 0 });
    // Nor is the configuration offered that another directory of this name has.
    const taken = await ada.run("up", renamed, "--yes");
    expect(taken).toMatchObject({ exitCode: 2, stdout: "" });
    expect(taken.stderr).toContain(
      `was deployed as "old name". Pass --name 'old name' to deploy that again, or another --name to create everything a second time.`,
    );
    const newName = ["--name", "newer"];
    expect(await ada.run("up", renamed, "--yes", ...newName)).toMatchObject({ exitCode: 0 });
  });

  test("says after a failure what the first run created, and how to remove it", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const directory = writeFiles(join(ada.path, "broken"), { "main.tf": "resource {}\n" });
    const early = await ada.run("up", directory, "--env", "LD_PRELOAD=x", "--zone", "new");
    expect(early).toMatchObject({ exitCode: 1 });
    expect(early.stderr).toMatch(
      /\nThe zone "new" was created and stays\. The same command uses it\. To remove it: windlass zones delete new$/,
    );
    const failed = await ada.run("up", directory, "--zone", "new");
    expect(failed).toMatchObject({ exitCode: 1 });
    expect(failed.stderr).toMatch(
      /Once the cause is removed, run windlass up again\.\nThe configuration "broken" was created in the zone "new" and stays\. The same command uses it\. To remove it: windlass configurations delete broken$/,
    );
    const again = await ada.run("up", directory);
    expect(again.stderr).toMatch(/Once the cause is removed, run windlass up again\.$/);
    const named = await ada.run("up", directory, "--zone", "new", "--name", "the second");
    expect(named.stderr).toContain("run windlass up --name 'the second' again.\n");
    const deleted = await ada.run("configurations", "delete", "the second", "--yes");
    expect(deleted).toMatchObject({ exitCode: 0 });
    const half = `
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "false" }
}
`;
    const part = writeFiles(join(ada.path, "half"), { "main.tf": half });
    const halfway = await ada.run("up", part, "--zone", "new", "--yes");
    expect(halfway).toMatchObject({ exitCode: 1 });
    // It cannot be deleted: it has resources.
    expect(halfway.stderr).toContain("What was changed until then stays.");
    expect(halfway.stderr).not.toContain("configurations delete");
    expect(await ada.run("jobs", "destroy", "half", "--yes", "--wait")).toMatchObject({
      exitCode: 0,
    });
    for (const [noun, name] of [
      ["configurations", "half"],
      ["configurations", "broken"],
      ["zones", "new"],
    ] as const)
      expect(await ada.run(noun, "delete", name, "--yes")).toMatchObject({ exitCode: 0 });
  });

  test("deploys nothing in a pipe without --yes, nor after the answer no", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const directory = directoryIn(ada.path);
    const piped = await ada.run("up", directory, "--name", "piped", "--zone", "new", "--json");
    expect(piped).toMatchObject({ exitCode: 3 });
    expect(piped.stderr).toContain("no resource was changed. Pass --yes");
    const { id } = JSON.parse(piped.stdout as string) as Job;
    expect(piped.stderr).toContain(`windlass jobs deploy --plan ${id} --wait`);
    const created = (name: string): string =>
      `The configuration "${name}" was created in the zone "new" and stays. The same command uses it. To remove it: windlass configurations delete ${name}`;
    expect(piped.stderr).toContain(`--wait\n${created("piped")}`);
    await using terminal = openTerminal(["up", directory, "--name", "piped"], ada.environment);
    await terminal.shows("Deploy this plan?");
    terminal.type("n\r");
    expect(await terminal.exited).toBe(3);
    expect(terminal.screen()).not.toContain("stays");
    for (const [name, key, code] of [
      ["no", "n\r", 3],
      ["stopped", "\u0003", 130],
    ] as const) {
      const words = ["up", directory, "--name", name, "--zone", "new"];
      await using first = openTerminal(words, ada.environment, wide);
      await first.shows("Deploy this plan?");
      first.type(key);
      expect([name, await first.exited]).toEqual([name, code]);
      expect(first.screen()).toContain(`\n${created(name)}\n`);
      expect(await ada.run("configurations", "delete", name, "--yes")).toMatchObject({
        exitCode: 0,
      });
    }
    const types = (await ada.json<Job[]>("jobs", "list")).map(({ job_type }) => job_type);
    expect(types).toEqual(["PLAN", "PLAN", "PLAN", "PLAN"]);
    const deployed = await ada.json<Job>("up", directory, "--name", "piped", "--yes");
    expect(deployed).toMatchObject({ job_type: "DEPLOY", status: "SUCCESS" });
    // Without changes it still shows the outputs.
    const again = await ada.run("up", directory, "--name", "piped");
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.stdout).toMatch(/^Plan: no changes/m);
    expect(again.stderr).not.toContain(".windlass");
    expect(again.stdout).toMatch(/^ {2}cluster_name +.*= \w+$/m);
    const unchanged = (await ada.json("up", directory, "--name", "piped", "--yes")) as Job;
    expect(unchanged).toMatchObject({ job_type: "PLAN", status: "SUCCESS" });
    expect(deployed.execution_metadata?.outputs).toHaveProperty("cluster_name");
    const { outputs } = unchanged.execution_metadata ?? {};
    expect(outputs).toEqual(deployed.execution_metadata?.outputs);

    // A directory of the same name takes the configuration over only with --adopt.
    const other = directoryIn(join(ada.path, "elsewhere"));
    writeFileSync(join(other, "other.tf"), "# other files\n");
    writeLink(other);
    const show = async () => (await ada.json("configurations", "show", "piped")) as Configuration;
    const before = await show();
    const refused = await ada.run("up", other, "--name", "piped", "--yes");
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(refused.stderr).toContain('"piped" was created from another directory');
    expect(refused.stderr).toContain("), not from this directory. A plan of other files");
    expect(refused.stderr).toContain("Pass another --name, or --adopt");
    expect(await show()).toEqual(before);
    expect(await ada.run("up", other, "--name", "piped", "--adopt")).toMatchObject({ exitCode: 0 });
    // Its plan was not deployed, so the configuration keeps its source.
    const { source, origin } = await show();
    expect(source).toEqual(before.source);
    expect(origin).not.toBe(before.origin);
    expect(await ada.run("up", directory, "--name", "piped", "--yes")).toMatchObject({
      exitCode: 2,
    });
  });

  test("asks before it uses a configuration that it did not make", async () => {
    await using ada = await userMachine(plane);
    const directory = directoryIn(ada.path);
    const before = await ada.json("configurations", "create", "--dir", directory);
    await using terminal = openTerminal(["up", directory, "--yes"], ada.environment, wide);
    await terminal.shows("was created from an unknown place, not from this directory.");
    await terminal.shows("Use this configuration for this directory from now on? [y/N]");
    terminal.type("n\r");
    expect(await terminal.exited).toBe(1);
    expect(await ada.json("configurations", "show", "network")).toEqual(before);
    expect(await ada.json("jobs", "list")).toEqual([]);
  });

  test("refuses a configuration with another type of source", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({
      name: "network",
      source: { type: "git", url: "https://a.example/network" },
    });
    const { exitCode, stderr } = await ada.run("up", directoryIn(ada.path), "--yes");
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      "has a source of type git, not an uploaded directory. Pass another --name.",
    );
  });
});
