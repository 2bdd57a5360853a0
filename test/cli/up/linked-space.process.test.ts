/** `windlass up` without `--team` in a directory that was deployed in a team. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyFixture } from "../../helpers/fixtures.ts";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { startCommand } from "../../helpers/running-command.ts";
import { userMachine } from "../../helpers/user-machine.ts";

const { plane } = planeForFile();

test("a directory of a team is deployed in the team again, unless another space is named", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform", "--slug", "platform");
  const directory = copyFixture("success-cluster", join(ada.path, "network"));
  /** Runs until the plan waits, as no runner is there, and returns what was said. */
  const up = async (...words: string[]): Promise<string> => {
    await using command = startCommand(["up", directory, ...words], ada.environment);
    const said = await command.says("In the console:");
    command.interrupt();
    await command.ended();
    return said;
  };
  const here = () => ada.json<object[]>("configurations", "list");

  expect(await up("--team", "platform")).toContain('Configuration "network" created');
  const again = await up();
  expect(again).toContain(
    'This directory was deployed in the team "platform" before, so this is done there too. For another space, pass --team "".',
  );
  expect(again).toContain('In the team "Platform" (platform), as admin.');
  expect(again).not.toContain("created");
  expect(await here()).toEqual([]);

  expect(await up("--team", "")).toContain('Configuration "network" created');
  expect(await here()).toHaveLength(1);
  // Both spaces have one now: the current space takes precedence.
  expect(await up()).not.toContain("platform");
});
