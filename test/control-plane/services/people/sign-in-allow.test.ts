/** Which provider accounts may sign in, with real OAuth servers. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { signInRule } from "../../../../control-plane/domain/sign-in-allow.ts";
import { endpoints } from "../../../../protocol/endpoints.ts";
import { ask } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import {
  startOpenIdProvider,
  startPlainProvider,
  TestBrowser,
  type FakeProvider,
} from "../../../helpers/providers.ts";
import { newLink } from "../../../helpers/sign-in.ts";
import { addTeam } from "../../../helpers/teams.ts";
import { addTestUser } from "../../../helpers/test-user.ts";

const publicUrl = "http://127.0.0.1:47392";
let providers: Record<"github" | "gitlab", FakeProvider>;
beforeAll(async () => {
  providers = {
    github: await startPlainProvider("github"),
    gitlab: await startOpenIdProvider(`${publicUrl}/api/auth/callback`),
  };
});
afterAll(() => Promise.all(Object.values(providers).map(({ close }) => close())));
const { plane } = planeForFile(() => ({
  GITHUB_CLIENT_ID: "client",
  GITHUB_CLIENT_SECRET: "client-secret",
  GITHUB_BASE_URL: providers.github.url,
  GITLAB_CLIENT_ID: "client",
  GITLAB_CLIENT_SECRET: "client-secret",
  GITLAB_BASE_URL: providers.gitlab.url,
  WINDLASS_PUBLIC_URL: publicUrl,
}));

let subject = 1000;
beforeEach(() => {
  subject += 1;
  for (const { person, others, memberships } of Object.values(providers)) {
    Object.assign(person, { subject: String(subject), email: "ada@example.com", verified: true });
    others.clear();
    memberships.clear();
  }
  allow();
});

/** Replaces the value of the setting, which the server reads at its start. */
const allow = (...entries: string[]) =>
  Object.assign(plane.context, { signInAllow: entries.map((text) => signInRule(text)) });

async function signIn(
  provider: "github" | "gitlab" = "github",
  browser = new TestBrowser(),
  after = "/settings",
) {
  const isCallback = (url: string) => url.startsWith(publicUrl);
  const start = `${plane.url}/api/auth/login/${provider}?next=${after}`;
  const { url, way } = await browser.visit(start, isCallback);
  const scope = new URL(way[1] ?? "").searchParams.get("scope") ?? "";
  const visit = await browser.visit(url.replace(publicUrl, plane.url), (next) =>
    next.includes(after),
  );
  return { ...visit, scope, isIn: visit.url.endsWith(after) };
}
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

test("an invitation to a team permits its sign-up, and later ones while the member stays", async () => {
  const admin = await addTestUser(plane);
  const { slug } = await addTeam(plane, admin);
  const { link } = await admin.client.get(endpoints.createInvitation, {
    params: { slug },
    body: { role: "viewer", email: "ada@example.com" },
  });
  const { pathname } = new URL(link);
  providers.github.person.email = "eve@example.com";
  expect((await signIn("github", new TestBrowser(), pathname)).isIn).toBe(false);
  providers.github.person.email = "ada@example.com";
  const browser = new TestBrowser();
  expect((await signIn("github", browser, pathname)).isIn).toBe(true);
  expect((await browser.visit(plane.url + pathname)).text).toContain("Join the team Platform?");
  // The link was for a sign-up. From now on, membership permits the sign-in.
  expect((await signIn()).isIn).toBe(false);
  const cookies = [...(browser.jars.get(new URL(plane.url).host) ?? [])];
  const cookie = cookies.map(([name, value]) => `${name}=${value}`).join("; ");
  await ask(plane, "POST", pathname, { headers: { cookie, origin: plane.url } });
  expect((await signIn()).isIn).toBe(true);
  const [ada] = (await admin.client.get(endpoints.listMembers, { params: { slug } })).members;
  await admin.client.ask(endpoints.removeMember, {
    params: { slug, user_id: ada?.user_id ?? "" },
  });
  expect((await signIn()).isIn).toBe(false);
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
