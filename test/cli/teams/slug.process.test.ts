/** The slug of a team, which the server makes of the name unless it is given. */
import { expect, test } from "vitest";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("a refused slug is named with the option that sets it", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform");
  await ada.json("teams", "create", "Sales");
  const taken =
    'windlass: There is a team with the slug "platform" on this server: choose another slug. Pass it with --slug SLUG';
  for (const words of [
    ["create", "Platform"],
    ["rename", "sales", "--slug", "platform"],
  ])
    expect((await ada.run("teams", ...words)).stderr).toBe(taken);
  const wrong = await ada.run("teams", "create", "Data", "--slug", "Not A Slug");
  expect(wrong.stderr).toMatch(/^windlass: --slug must /);
});
