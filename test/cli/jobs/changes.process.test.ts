/** What the client says of the changes of plans, deployments and destructions of every kind. */
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Job } from "../../../protocol/jobs.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

const resources = `
variable "w" { default = "1" }
resource "terraform_data" "one" { input = "a" }
resource "terraform_data" "many" { count = 2 }
`;

test("outputs alone are a change, and a job without a plan lists what it changed", async () => {
  await using ada = await userMachine(plane, { agent: true });
  const write = (text: string) => writeFiles(join(ada.path, "app"), { "main.tf": text });
  const upload = async (text: string) =>
    ada.json("configurations", "update", "app", "--dir", write(text));
  await ada.json("configurations", "create", "app", "--dir", write(resources));
  const run = async (verb: string, ...words: string[]) => {
    const { exitCode, stderr } = await ada.run("jobs", verb, "app", "--wait", ...words);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  };
  const newest = async (count: number) => {
    const { stdout } = await ada.run("jobs", "list", "--limit", String(count));
    return String(stdout).split("\n").slice(1);
  };

  await run("deploy");
  expect(await newest(1)).toEqual([expect.stringMatching(/^DEPLOY +app +SUCCESS +\+3 /)]);
  const shown = await ada.run("jobs", "show", "app/-");
  const [, listed = ""] =
    /^Applied: 3 added\n((?: +\+ .*(?:\n|$))+)/m.exec(String(shown.stdout)) ?? [];
  expect(listed.match(/terraform_data\.\S+/g)?.toSorted()).toEqual([
    "terraform_data.many[0]",
    "terraform_data.many[1]",
    "terraform_data.one",
  ]);
  const { resource_progress } = await ada.json<Job>("jobs", "show", "app/-");
  expect(resource_progress?.resources).toHaveLength(3);

  const withOutput = `${resources}output "w" { value = var.w }`;
  await upload(withOutput);
  const planned = await ada.run("jobs", "plan", "app", "--detailed-exitcode");
  expect(planned).toMatchObject({ exitCode: 2 });
  await run("deploy", "--plan", "-");
  await run("deploy");
  await ada.json("configurations", "update", "app", "--var", "w=2");
  await run("deploy");
  expect((await newest(4)).map((line) => line.split(/ {2,}/).slice(0, 4).join("|"))).toEqual([
    "DEPLOY|app|SUCCESS|only outputs change",
    "DEPLOY|app|SUCCESS|no changes",
    "DEPLOY|app|SUCCESS|only outputs change",
    "PLAN|app|SUCCESS|only outputs change",
  ]);
  expect((await ada.run("jobs", "show", "app/-")).stdout).toMatch(
    /^Applied: only outputs changed$/m,
  );

  await run("destroy", "--yes");
  const markdown = await ada.run("jobs", "show", "app/-", "--markdown");
  expect(markdown.stdout).toMatch(
    /^\*\*Applied: 3 destroyed\*\* \(`app`\)\n[^]*\n- terraform_data\.one\n/,
  );
  await run("destroy", "--yes");
  expect(await newest(1)).toEqual([expect.stringMatching(/^DESTROY +app +SUCCESS +no changes /)]);
});

test("a plan names what the files do not declare, and takes over nothing where nothing drifted", async () => {
  await using ada = await userMachine(plane, { agent: true });
  const directory = writeFiles(join(ada.path, "app"), { "main.tf": resources });
  const create = ["configurations", "create", "app", "--dir", directory];
  await ada.json(...create, "--var", "nope=1", "--var", "w=2");
  const planned = await ada.run("jobs", "plan", "app", "--wait");
  expect(planned).toMatchObject({ exitCode: 0 });
  const remedy = "windlass configurations update app --unset nope";
  expect(planned.stderr).toContain(
    `The files do not declare the variable "nope". To remove it: ${remedy}`,
  );
  await ada.json(...remedy.split(" ").slice(1));
  const deployed = await ada.run("jobs", "deploy", "app", "--wait");
  expect(deployed).toMatchObject({ exitCode: 0 });
  expect(deployed.stderr).not.toContain("declare");
  const refreshed = await ada.run("jobs", "plan", "app", "--refresh-only", "--wait");
  expect(refreshed.stdout).toMatch(/\nPlan: no changes$/);
  expect(refreshed.stdout).not.toContain("takes over");

  await ada.json(
    "configurations",
    "update",
    "app",
    "--dir",
    writeFiles(directory, { "main.tf": "!" }),
  );
  const failed = await ada.run("jobs", "deploy", "app", "--wait");
  expect(failed.stderr).toContain("No resource was changed.");
  expect(failed.stderr).not.toContain("What became of each resource");
  await ada.json("configurations", "update", "app", "--git", "https://127.0.0.1:1/app.git");
  const unfetched = await ada.run("jobs", "deploy", "app", "--wait");
  expect(unfetched.stderr).toMatch(/: source: [^]*\nNo resource was changed\. Once the cause/);
  for (const more of [[], ["--json"]])
    expect(await ada.run("jobs", "show", "app/-", "--plan", ...more)).toMatchObject({
      exitCode: 1,
    });
});
