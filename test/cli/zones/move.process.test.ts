/** `windlass zones move` of a zone that uses what stays behind. */
import { expect, test } from "vitest";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { windlass } from "../../helpers/cli/windlass.ts";

const { plane } = planeForFile();

test("a refused move names what is in the way, and the command that detaches it", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform", "--slug", "platform");
  await ada.json("zones", "create", "europe");
  await ada.json("variable-sets", "create", "eu", "--var", "region=eu-west-1", "--zone", "europe");
  const unnamed = await ada.run("zones", "move", "europe");
  expect(unnamed).toMatchObject({ exitCode: 2 });
  expect(unnamed.stderr).toContain("Pass --team TEAM");
  const move = ["zones", "move", "europe", "--team", "platform", "--yes"];
  const refused = await ada.run(...move);
  expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
  expect(refused.stderr).toMatch(/^windlass: The zone uses the variable set "eu"/);
  expect(refused.stderr).toContain("\n  windlass variable-sets detach SET --zone europe (or ");
  await ada.json("variable-sets", "detach", "eu", "--zone", "europe");
  const moved = await ada.run(...move);
  expect(moved).toMatchObject({ exitCode: 0 });
  expect(moved.stderr).toContain('The zone "europe" is in the team "platform" now.');
  expect(await ada.json("zones", "list", "--team", "platform")).toMatchObject([{ name: "europe" }]);
  // There is nothing to ask.
  const same = await windlass(move.slice(0, -1), {
    env: { ...ada.environment, WINDLASS_TEAM: "platform" },
  });
  expect(same).toMatchObject({ exitCode: 0, stdout: "" });
  expect(same.stderr).toBe('The zone "europe" is in the team "platform" already.');
});

test("a zone that is not in the space of the command is named with its space", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Ops", "--slug", "ops");
  await ada.json("zones", "create", "europe");
  const move = (team: string, name = "europe") =>
    windlass(["zones", "move", name, "--team", team, "--yes"], {
      env: { ...ada.environment, WINDLASS_TEAM: "ops" },
    });
  expect(await move("ops")).toMatchObject({
    exitCode: 1,
    stderr:
      'windlass: There is no zone "europe" in the team "ops", where you act. It is in your personal space. To act there first: unset WINDLASS_TEAM; windlass teams use ""',
  });
  expect((await move("")).stderr).toBe(
    'windlass: The zone "europe" is in your personal space already.',
  );
  expect((await move("ops", "nowhere")).stderr).toBe(
    'windlass: There is no zone "nowhere". To see what exists: windlass zones list --team ops',
  );
});
