/** What is in another space of the user than the command. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("what a command does not find is named with the space in which it is", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform", "--slug", "platform");
  const inTeam = ["--team", "platform"];
  for (const noun of ["zones", "workers", "variable-sets"])
    await ada.json(noun, "create", "theirs", ...inTeam);
  for (const [what, ...words] of [
    ["zone", "zones", "show", "theirs"],
    ["zone", "jobs", "list", "--zone", "theirs"],
    ["worker", "workers", "show", "theirs"],
    ["variable set", "variable-sets", "show", "theirs"],
  ] as const) {
    const { exitCode, stderr } = await ada.run(...words);
    expect([words, exitCode, stderr]).toEqual([
      words,
      1,
      `windlass: There is no ${what} "theirs" here. It is in the team "platform": add --team platform`,
    ]);
  }
  const nowhere = await ada.run("workers", "show", "missing");
  expect(nowhere.stderr).toBe(
    'windlass: There is no worker "missing". To see what exists: windlass workers list',
  );
});

test("a command that names something by its id goes on in the space of that", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Ops", "--slug", "ops");
  const inTeam = ["--team", "ops"];
  const directory = writeFiles(join(ada.path, "app"), { "main.tf": "" });
  await ada.json("zones", "create", "theirs", ...inTeam);
  const create = ["configurations", "create", "app", "--dir", directory, ...inTeam];
  const made = await ada.json<Configuration>(...create);
  const job = await ada.json<Job>("jobs", "plan", made.id);
  await ada.run("jobs", "cancel", job.id);
  expect(await ada.json<Job[]>("jobs", "list", "--configuration", made.id)).toHaveLength(1);
  expect(await ada.json<Job>("jobs", "show", `${made.id}/-`)).toMatchObject({ id: job.id });
  const retried = await ada.run("jobs", "retry", job.id);
  expect(retried).toMatchObject({ exitCode: 0 });
  const again = await ada.run("jobs", "retry", job.id);
  expect(again.stderr).toMatch(/To follow it: windlass jobs logs \S+ --follow --team ops$/m);
  const state = join(ada.path, "state");
  writeFileSync(state, JSON.stringify({ version: 4, serial: 1, lineage: "l", resources: [] }));
  await ada.run("jobs", "cancel", `${made.id}/-`);
  const pushed = await ada.run("state", "push", made.id, "--file", state);
  expect(pushed.stderr).toContain("windlass jobs plan app --wait --team ops");
  // Without an id, commands still act in the user's own space.
  expect(await ada.json("configurations", "list")).toEqual([]);
});
