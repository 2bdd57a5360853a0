/** Commands that need a higher role than the caller has end before they do anything. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { endpoints } from "../../../protocol/endpoints.ts";
import { copyFixture } from "../../helpers/fixtures.ts";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { userMachine } from "../../helpers/user-machine.ts";
import { windlass } from "../../helpers/windlass.ts";

const { plane } = planeForFile();

test("a planner's up packs nothing, and its jobs destroy plans nothing", async () => {
  await using ada = await userMachine(plane);
  await ada.user.configure({
    name: "app",
    source: { type: "inline", files: { "main.tf": "" } },
    approval: { when: "always", count: 1, by_author: true },
  });
  const body = { name: "ci", role: "planner" } as const;
  const { access_token } = await ada.user.call(endpoints.createAccessToken, { body });
  const env = { ...ada.environment, WINDLASS_TOKEN: access_token };
  const directory = copyFixture("success-cluster", join(ada.path, "network"));
  for (const words of [
    ["up", directory, "--yes"],
    ["jobs", "destroy", "app", "--yes", "--wait"],
  ]) {
    const refused = await windlass(words, { env });
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^\S*windlass: \S*This needs the role deployer\. The access token "ci" has the role planner\. Nothing was done\.$/,
    );
  }
  expect(await ada.json("jobs", "list")).toEqual([]);
});
