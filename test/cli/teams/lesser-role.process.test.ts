/** Commands that need a higher role than the caller has end before they do anything. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { endpoints } from "../../../protocol/endpoints.ts";
import { copyFixture } from "../../helpers/fixtures.ts";
import { addPerson, openTeam } from "../../helpers/people.ts";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { callsWithin } from "../../helpers/teams.ts";
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

test("whoami says that an access token is limited to a lower role of its creator", async () => {
  await using ada = await userMachine(plane);
  const team = await openTeam(plane);
  const grace = await addPerson(plane, team, "deployer");
  const calls = callsWithin(plane, grace.headers, team.slug);
  const { access_token } = await calls.get(endpoints.createAccessToken, {
    body: { name: "bb", role: "deployer" },
  });
  const params = { slug: team.slug, user_id: grace.id };
  await team.admin.client.get(endpoints.updateMember, { params, body: { role: "viewer" } });
  const env = { ...ada.environment, WINDLASS_URL: plane.url, WINDLASS_TOKEN: access_token };
  expect((await windlass(["whoami"], { env })).stdout).toMatch(
    /^role +deployer, limited to viewer: the role of its creator$/m,
  );
});
