/** Which provider accounts may sign in, with real OAuth servers. */
import { beforeEach, describe, expect, test } from "vitest";
import { providersForFile } from "./provider-sign-in.ts";
import { startPlainProvider, TestBrowser } from "../../../helpers/people/providers.ts";
import { newLink } from "../../../helpers/people/sign-in.ts";

const { plane, providers, nextPerson, allow, signIn } = providersForFile();
let subject: number;
beforeEach(() => {
  subject = nextPerson();
});

const stored = async () => {
  const { sql: db } = plane.context.store.read;
  return [
    await db.selectFrom("users").selectAll().execute(),
    await db.selectFrom("accounts").selectAll().execute(),
    await db.selectFrom("logins").selectAll().execute(),
  ];
};

test("an empty list refuses an unknown user, says what to do, and stores nothing", async () => {
  const before = await stored();
  const browser = new TestBrowser();
  const { status, text, isIn } = await signIn("github", browser);
  expect([status, isIn]).toEqual([403, false]);
  expect(text).toContain("You may not use this server yet");
  expect(text).toContain("windlass server login-link --email ada@example.com");
  expect(text).toContain("WINDLASS_SIGN_IN_ALLOW");
  expect(await stored()).toEqual(before);
  expect((await browser.visit(`${plane.url}/settings`)).url).toContain("/login");
});

test("a user who was invited by a link needs no entry, now or later", async () => {
  const browser = new TestBrowser();
  await browser.visit(plane.url + (await newLink(plane, `${subject}@example.com`)));
  expect((await signIn("github", browser)).isIn).toBe(true);
  expect((await signIn("github")).isIn).toBe(true);
  // Another account that the user has not connected counts as another user.
  expect((await signIn("gitlab")).isIn).toBe(false);
});

test("a known user is checked again at every sign-in, and gets no advice to create a link", async () => {
  allow("@example.com");
  expect((await signIn()).isIn).toBe(true);
  allow("@example.org");
  const { status, text } = await signIn();
  expect(status).toBe(403);
  expect(text).not.toContain("login-link");
});

describe("an entry", () => {
  test.each<[string, boolean]>([
    ["*", true],
    ["ada@example.com", true],
    ["@example.com", true],
    ["eve@example.com", false],
    ["@sub.example.com", false],
    ["gitlab:group/acme", false],
  ])("%s lets ada@example.com in: %s", async (entry, isIn) => {
    allow(entry);
    expect((await signIn()).isIn).toBe(isIn);
  });

  test("allows another address only if it is verified", async () => {
    allow("@corp.example");
    providers.github.others.set("ada@corp.example", false);
    expect((await signIn()).isIn).toBe(false);
    providers.github.others.set("ada@corp.example", true);
    expect((await signIn()).isIn).toBe(true);
  });

  test("allows no unverified address", async () => {
    allow("*", "ada@example.com");
    for (const name of ["github", "gitlab"] as const) {
      providers[name].person.verified = false;
      expect(await signIn(name)).toMatchObject({ status: 403, isIn: false });
    }
  });

  test.each<[string, number, unknown, boolean]>([
    ["a member", 200, { state: "active" }, true],
    ["a person who has not accepted yet", 200, { state: "pending" }, false],
    ["a person who is not a member", 404, {}, false],
    ["a member of an organisation that has not approved the application", 403, {}, false],
  ])("allows the members of a GitHub organisation: %s", async (_, status, body, isIn) => {
    allow("@corp.example", "github:org/acme");
    providers.github.memberships.set("/api/v3/user/memberships/orgs/acme", { status, body });
    const visit = await signIn();
    expect(visit.isIn).toBe(isIn);
    expect(visit.scope.split(" ")).toContain("read:org");
  });

  test.each<[string, unknown, boolean]>([
    ["a guest", { state: "active", access_level: 10 }, true],
    ["a person with minimal access", { state: "active", access_level: 5 }, false],
    ["a blocked person", { state: "blocked", access_level: 50 }, false],
  ])("allows the members of a GitLab group: %s", async (_, body, isIn) => {
    allow("gitlab:group/acme/infra");
    const path = `/api/v4/groups/acme%2Finfra/members/all/${subject}`;
    providers.gitlab.memberships.set(path, { status: 200, body });
    expect((await signIn("gitlab")).isIn).toBe(isIn);
  });

  test("allows no user while the provider does not return the membership", async () => {
    allow("github:org/acme", "github:org/other");
    providers.github.memberships.set("/api/v3/user/memberships/orgs/acme", {
      status: 500,
      body: {},
    });
    const { status, text } = await signIn();
    expect([status, text]).toEqual([424, expect.stringContaining("GitHub cannot be reached")]);
  });

  test("requests no organisation scope unless an entry names an organisation", async () => {
    allow("*");
    expect((await signIn()).scope.split(" ")).not.toContain("read:org");
  });
});

test("the same subject at another host is another user, and no token is sent to that host", async () => {
  allow("*");
  const browser = new TestBrowser();
  await signIn("github", browser);
  const known = plane.context.providers.github;
  const before = (await stored())[0]?.length;
  const elsewhere = await startPlainProvider("github");
  Object.assign(elsewhere.person, { subject: String(subject), email: "eve@example.com" });
  Object.assign(plane.context.providers, { github: { ...known, baseUrl: elsewhere.url } });
  try {
    const settings = await browser.visit(`${plane.url}/settings`);
    expect(settings.text).toContain("(sign-in there is off)");
    const answer = await browser.visit(`${plane.url}/api/cli/repositories/github`);
    expect(answer).toMatchObject({
      status: 409,
      text: expect.stringContaining("provider_not_connected"),
    });
    const eve = new TestBrowser();
    await signIn("github", eve);
    expect((await stored())[0]).toHaveLength((before ?? 0) + 1);
    expect((await eve.visit(`${plane.url}/settings`)).text).toContain("eve@example.com");
  } finally {
    Object.assign(plane.context.providers, { github: known });
    await elsewhere.close();
  }
});
