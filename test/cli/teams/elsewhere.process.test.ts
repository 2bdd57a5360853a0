/** What is in another space of the user than the command. */
import { expect, test } from "vitest";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { userMachine } from "../../helpers/user-machine.ts";

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
