/** `windlass zones move` of a zone that uses what stays behind. */
import { expect, test } from "vitest";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { userMachine } from "../../helpers/user-machine.ts";

const { plane } = planeForFile();

test("a refused move names what is in the way, and the command that detaches it", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform", "--slug", "platform");
  await ada.json("zones", "create", "europe");
  await ada.json("variable-sets", "create", "eu", "--var", "region=eu-west-1", "--zone", "europe");
  const move = ["zones", "move", "europe", "--team", "platform", "--yes"];
  const refused = await ada.run(...move);
  expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
  expect(refused.stderr).toMatch(/^windlass: The zone uses the variable set "eu"/);
  expect(refused.stderr).toContain("\n  windlass variable-sets detach SET --zone europe (or ");
  await ada.json("variable-sets", "detach", "eu", "--zone", "europe");
  expect((await ada.run(...move)).exitCode).toBe(0);
});
