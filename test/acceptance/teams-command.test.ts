/** `windlass teams` and the team in which a command acts, against a real server. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clientTeam, clientUser, type ClientUser } from "./client-user.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { newSlug } from "../helpers/people/teams.ts";

const { plane } = planeForFile();

const person = () => clientUser(plane);
const teamOf = (admin: ClientUser, member: ClientUser, role: string) =>
  clientTeam(plane, admin, member, role);

const names = async (by: ClientUser, ...words: string[]) =>
  (await by.json<{ name: string }[]>("zones", "list", ...words)).map(({ name }) => name);

describe.concurrent("the team in which a command acts", () => {
  test("is that of --team, else of WINDLASS_TEAM, else of the profile", async () => {
    using ada = await person();
    using bob = await person();
    const slug = await teamOf(ada, bob, "deployer");
    const other = await teamOf(ada, bob, "viewer");
    await bob.json("zones", "create", "of-team", "--team", slug);
    expect(await names(bob)).toEqual(["zone"]);
    expect(await names(ada, "--team", slug)).toEqual(["of-team"]);
    const inOther = { WINDLASS_TEAM: other };
    const listed = await bob.run(["zones", "list", "--json"], { WINDLASS_TEAM: slug });
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: "of-team" }]);

    const used = await bob.run(["teams", "use", slug]);
    expect(used).toMatchObject({
      exitCode: 0,
      stderr: 'You act in the team "Platform" from now on, as deployer.',
    });
    expect(await names(bob)).toEqual(["of-team"]);
    expect((await bob.run(["whoami"])).stdout).toMatch(
      new RegExp(`^team +${slug} \\(you are deployer\\)$`, "m"),
    );
    expect(await bob.json("whoami")).toMatchObject({ team: { slug, role: "deployer" } });
    expect((await bob.run(["profiles", "list"])).stdout).toMatch(new RegExp(` ${slug}$`, "m"));
    expect((await bob.run(["teams", "list"])).stdout).toMatch(new RegExp(`^\\* +${slug} `, "m"));
    expect((await bob.run(["zones", "list"], inOther)).stderr).toContain("There are no zones yet");
    expect(await names(bob, "--team", "")).toEqual(["zone"]);
    await bob.run(["teams", "use", ""]);
    expect(await names(bob)).toEqual(["zone"]);
    expect((await bob.run(["whoami"])).stdout).toMatch(/^team +none: the personal space$/m);
  });

  test("shows someone with roles in zones only these zones", async () => {
    using ada = await person();
    using bob = await person();
    const slug = await teamOf(ada, bob, "viewer");
    for (const name of ["staging", "sandbox"])
      await ada.json("zones", "create", name, "--team", slug);
    const { members } = { members: await ada.json("teams", "members", "list", "--team", slug) };
    const { email } = (members as { role: string; email: string }[]).find(
      ({ role }) => role === "viewer",
    )!;
    const change = ["teams", "members", "update", email, "--team", slug];
    const zones = ["--zone", "sandbox=deployer", "--zone", "staging=planner"];
    expect((await ada.run([...change, "--role", "viewer", ...zones])).stderr).toContain(
      "is viewer; deployer in sandbox; planner in staging of the team",
    );
    expect(
      (await ada.run([...change, "--no-role", "--zone", "sandbox=deployer"])).stderr,
    ).toContain("is deployer in sandbox of the team");
    expect(await names(bob, "--team", slug)).toEqual(["sandbox"]);
    expect((await bob.run(["workers", "list", "--team", slug])).stderr).toContain(
      "This needs the role viewer. You have roles in some zones only.",
    );
    const wrong = await ada.run([...change, "--zone", "sandbox"]);
    expect(wrong).toMatchObject({ exitCode: 2 });
    expect(wrong.stderr).toContain("--zone takes ZONE=ROLE");
    expect((await ada.run(change)).stderr).toContain("Pass --role ROLE, or --zone ZONE=ROLE");

    const show = await bob.run(["teams", "show", slug]);
    expect(show).toMatchObject({ exitCode: 0 });
    expect(show.stdout).toMatch(/^your role +deployer in sandbox$/m);
    expect(show.stdout).not.toContain("members");
    await ada.run(["zones", "delete", "sandbox", "--yes", "--team", slug]);
    const list = await ada.run(["teams", "members", "list", "--team", slug]);
    expect(list.stdout).toMatch(new RegExp(`^${email} +no role `, "m"));
    expect(list.stderr).toContain(
      `To give one: windlass teams members update ${email} --role viewer --team ${slug}`,
    );
    const leave = await bob.run(["teams", "leave", slug, "--yes"]);
    expect(leave).toMatchObject({ exitCode: 0, stderr: `You have left the team "${slug}".` });
    expect((await ada.json<object[]>("teams", "members", "list", "--team", slug)).length).toBe(1);
  });

  test("takes roles in zones away with --no-zones only", async () => {
    using ada = await person();
    using bob = await person();
    const slug = await teamOf(ada, bob, "viewer");
    await ada.json("zones", "create", "sandbox", "--team", slug);
    const change = (...words: string[]) =>
      ada.run(["teams", "members", "update", bob.email, "--team", slug, ...words]);
    await change("--zone", "sandbox=deployer");
    const raised = await change("--role", "planner");
    expect(raised.stderr).toContain(
      `is planner; deployer in sandbox of the team "${slug}" from now on.\nThe roles in zones stay. To take them away: windlass teams members update ${bob.email} --no-zones --team ${slug}`,
    );
    expect(await change("--no-zones", "--zone", "sandbox=viewer")).toMatchObject({ exitCode: 2 });
    const none = await change("--no-zones", "--no-role");
    expect(none).toMatchObject({ exitCode: 1 });
    expect(none.stderr).toContain("give a role, or roles in zones");
    expect(await change("--no-zones")).toMatchObject({
      exitCode: 0,
      stderr: `${bob.email} is planner of the team "${slug}" from now on.`,
    });
    const zones = { role: "planner", zones: {} };
    expect(await bob.json("teams", "show", slug)).toMatchObject(zones);
  });

  test("is refused with what to do if the user is not a member, or no longer", async () => {
    using ada = await person();
    using bob = await person();
    const slug = await teamOf(ada, bob, "planner");
    const none = await ada.run(["zones", "list", "--team", "no-such-team"]);
    expect(none).toMatchObject({ exitCode: 1, stdout: "" });
    expect(none.stderr).toMatch(
      /no team "no-such-team".*\. To see your teams: windlass teams list$/,
    );
    const wrong = await ada.run(["zones", "list", "--team", "No Team"]);
    expect(wrong).toMatchObject({ exitCode: 2, stdout: "" });
    expect((await ada.run(["zones", "list"], { WINDLASS_TEAM: "No Team" })).exitCode).toBe(78);
    expect(await ada.run(["teams", "use", "no-such-team"])).toMatchObject({ exitCode: 1 });

    await bob.run(["teams", "use", slug]);
    for (const words of [
      ["teams", "use", "nope"],
      ["teams", "show", "nope"],
      ["teams", "rename", "nope", "Ops"],
      ["teams", "leave", "nope", "--yes"],
      // Refused before the question, which a script could not answer.
      ["teams", "delete", "nope"],
    ])
      expect(await bob.run(words)).toMatchObject({
        exitCode: 1,
        stderr:
          'windlass: There is no team "nope" of which you are a member. To see your teams: windlass teams list',
      });
    const denied = await bob.run(["zones", "create", "mine"]);
    expect(denied).toMatchObject({ exitCode: 1 });
    expect(denied.stderr).toContain("deployer");
    await ada.run(["teams", "members", "remove", bob.email, "--team", slug, "--yes"]);
    const removed = await bob.run(["zones", "list"]);
    expect(removed).toMatchObject({ exitCode: 1, stdout: "" });
    expect(removed.stderr).toContain(
      'It is the team of your profile. To choose another one: windlass teams use TEAM, or windlass teams use "" for your personal space',
    );
    expect((await bob.run(["whoami"])).stdout).toMatch(/^team .*you are not a member/m);
    // What is about the user works, so that the user can choose another team.
    expect(await bob.run(["teams", "list"])).toMatchObject({ exitCode: 0 });
    expect(await bob.run(["teams", "use", ""])).toMatchObject({ exitCode: 0 });
    expect(await names(bob)).toEqual(["zone"]);
  });

  test("stays that of another user of this machine when one leaves it", async () => {
    using ada = await person();
    using bob = await person();
    const slug = await teamOf(ada, bob, "viewer");
    await ada.run(["teams", "use", slug]);
    await bob.run(["teams", "use", slug]);
    const profileOf = ({ path }: ClientUser): unknown =>
      JSON.parse(readFileSync(join(path, "auth.json"), "utf8")).profiles.test;
    const profiles = { ada: profileOf(ada), bob: profileOf(bob) };
    writeFileSync(join(bob.path, "auth.json"), JSON.stringify({ current: "bob", profiles }));
    expect(await bob.run(["teams", "leave", slug, "--yes"])).toMatchObject({ exitCode: 0 });
    expect(await bob.json("profiles", "list")).toMatchObject([
      { name: "ada", team: slug },
      { name: "bob", team: null },
    ]);
  });

  test("is the own one of an access token, and another one is refused", async () => {
    using ada = await person();
    using bob = await person();
    const slug = await teamOf(ada, bob, "viewer");
    const other = await teamOf(ada, bob, "viewer");
    await ada.json("zones", "create", "of-team", "--team", slug);
    const create = ["access-tokens", "create", "ci", "--role", "deployer", "--team", slug];
    const { access_token } = await ada.json<{ access_token: string }>(...create);
    const pipeline = { WINDLASS_TOKEN: access_token, WINDLASS_URL: plane.url };
    const inTeam = await ada.run(["zones", "list", "--json"], pipeline);
    expect(JSON.parse(inTeam.stdout)).toMatchObject([{ name: "of-team" }]);
    expect((await ada.run(["whoami"], pipeline)).stdout).toMatch(
      new RegExp(`^team +${slug} \\(you are deployer\\)$`, "m"),
    );
    for (const [words, more, source] of [
      [["--team", other], {}, "--team"],
      [[], { WINDLASS_TEAM: other }, "WINDLASS_TEAM"],
    ] as const) {
      const refused = await ada.run(["zones", "list", ...words], { ...pipeline, ...more });
      expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
      expect(refused.stderr).toContain(
        `WINDLASS_TOKEN is an access token, which acts only in the space in which it was created: remove ${source}, or use a token of this team`,
      );
    }
    const list = await ada.run(["teams", "list"], pipeline);
    expect(list.stdout).toMatch(new RegExp(`^\\* +${slug} `, "m"));
    const use = await ada.run(["teams", "use", slug], pipeline);
    expect(use).toMatchObject({ exitCode: 1 });
    expect(use.stderr).toContain("WINDLASS_TOKEN is an access token, which acts only in the space");
    const file = join(ada.path, "token");
    writeFileSync(file, access_token);
    const fromFile = { WINDLASS_TOKEN_FILE: file, WINDLASS_URL: plane.url };
    const used = await ada.run(["teams", "use", slug], fromFile);
    expect(used.stderr).toContain("WINDLASS_TOKEN_FILE is an access token");
    const empty = join(ada.path, "empty");
    mkdirSync(empty, { recursive: true });
    const up = await ada.run(["up", empty], pipeline);
    expect(up.stderr).toContain(`In the team "Platform" (${slug}), as deployer.`);
  });
});

test.concurrent("a team follows its slug, and leaves the profile of who leaves or deletes it", async () => {
  using ada = await person();
  using bob = await person();
  const before = await teamOf(ada, bob, "admin");
  const after = newSlug();
  await ada.run(["teams", "use", before]);
  expect((await ada.run(["teams", "rename", before])).exitCode).toBe(2);
  await ada.json("teams", "rename", before, "--slug", after);
  expect(await ada.json("whoami")).toMatchObject({ team: { slug: after } });
  expect(await ada.json("teams", "show")).toMatchObject({ slug: after, name: "Platform" });
  const left = await ada.run(["teams", "leave", after, "--yes"]);
  expect(left).toMatchObject({ exitCode: 0, stderr: `You have left the team "${after}".` });
  expect(await ada.json("whoami")).toMatchObject({ team: null });
  const last = await bob.run(["teams", "leave", after, "--yes"]);
  expect(last).toMatchObject({ exitCode: 1, stdout: "" });
  expect(last.stderr).toContain("admin");
  await bob.run(["teams", "use", after]);
  await bob.run(["teams", "delete", after, "--yes"]);
  expect(await bob.json("whoami")).toMatchObject({ team: null });
});
