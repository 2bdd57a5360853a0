/** Names of earlier versions, which accepted characters that change the direction of text. */
import { expect, test } from "vitest";
import type { Zone } from "../../../protocol/configurations.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { setRows } from "../../helpers/plane/plane.ts";

const { plane } = planeForFile();

test("lists and messages show the characters as escapes, and JSON has the same name", async () => {
  await using ada = await userMachine(plane);
  const { id } = await ada.json<Zone>("zones", "create", "plain");
  const name = "gpj.\u202etxt";
  await setRows(plane, "zones", { name }, { id });
  const { stdout } = await ada.run("zones", "list");
  expect(stdout).toContain("gpj.\\u202etxt");
  const json = await ada.run("zones", "list", "--json");
  expect(json.stdout).not.toContain("\u202e");
  expect(JSON.parse(String(json.stdout))).toContainEqual(expect.objectContaining({ id, name }));
  const refused = await ada.run("zones", "create", name);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toMatch(
    /must be text that is not blank, without control characters and invisible/,
  );
  const removed = await ada.run("zones", "delete", id, "--yes");
  expect(removed.stderr).toContain("gpj.\\u202etxt");
});
