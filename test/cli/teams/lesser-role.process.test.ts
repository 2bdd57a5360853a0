/** Commands that need a higher role than the caller has end before they do anything. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyFixture } from "../../helpers/agent/fixtures.ts";
import { addPerson, callsWithin, openTeam } from "../../helpers/people/teams.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { windlass } from "../../helpers/cli/windlass.ts";

const { plane } = planeForFile();

test("a planner's up and update pack nothing, and its jobs destroy plans nothing", async () => {
  await using ada = await userMachine(plane);
  await ada.user.configure({
    name: "app",
    approval: { when: "always", count: 1, by_author: true },
  });
  const body = { name: "ci", role: "planner" } as const;
  const { access_token } = await ada.user.client.call("createAccessToken", { body });
  const env = { ...ada.environment, WINDLASS_TOKEN: access_token };
  const directory = copyFixture("success-cluster", join(ada.path, "network"));
  for (const words of [
    ["up", directory, "--yes"],
    ["configurations", "update", "app", "--dir", directory],
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

test("a refusal names the role that is enough, whatever the role of the caller", async () => {
  await using ada = await userMachine(plane);
  const configuration = await ada.user.configure({ name: "app" });
  const deployment = await ada.user.queue({
    job_type: "DEPLOY",
    configuration_id: configuration,
  });
  for (const role of ["viewer", "planner"] as const) {
    const body = { name: `as-${role}`, role };
    const { access_token } = await ada.user.client.call("createAccessToken", { body });
    const env = { ...ada.environment, WINDLASS_TOKEN: access_token };
    for (const [least, ...words] of [
      ["deployer", "jobs", "deploy", "app"],
      ["deployer", "jobs", "destroy", "app", "--yes"],
      ["deployer", "jobs", "cancel", deployment.id],
      ["admin", "zones", "move", "zone", "--team", "platform", "--yes"],
    ] as const) {
      const refused = await windlass(words, { env });
      expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
      expect(refused.stderr).toContain(
        `This needs the role ${least}. The access token "as-${role}" has the role ${role}`,
      );
    }
  }
});

test("empty lists of an access token say why they are empty", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Ops", "--slug", "ops-of-ada");
  const body = { name: "ci", role: "planner" } as const;
  const { access_token } = await ada.user.client.call("createAccessToken", { body });
  const env = { ...ada.environment, WINDLASS_TOKEN: access_token };
  const { stdout, stderr } = await windlass(["teams", "list"], { env });
  expect(`${stdout as string}${stderr as string}`).toBe(
    "This access token acts in the personal space of its creator, and sees no team.",
  );
  const waiting = await windlass(["jobs", "list", "--waiting-for-me"], { env });
  expect(waiting.stderr).toBe("No deployment waits for an access token: only people approve.");
});

test("whoami says that an access token is limited to a lower role of its creator", async () => {
  await using ada = await userMachine(plane);
  const team = await openTeam(plane);
  const grace = await addPerson(plane, team, "deployer");
  const calls = callsWithin(plane, grace.headers, team.slug);
  const { access_token } = await calls.call("createAccessToken", {
    body: { name: "bb", role: "deployer" },
  });
  const params = { slug: team.slug, user_id: grace.id };
  await team.admin.client.call("updateMember", { params, body: { role: "viewer" } });
  const env = { ...ada.environment, WINDLASS_URL: plane.url, WINDLASS_TOKEN: access_token };
  expect((await windlass(["whoami"], { env })).stdout).toMatch(
    /^role +deployer, limited to viewer: the role of its creator$/m,
  );
});
