import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  startOpenIdProvider,
  startPlainProvider,
  TestBrowser,
  type FakeProvider,
} from "../../../helpers/people/providers.ts";
import { newLink, openPerson, signIn } from "../../../helpers/people/sign-in.ts";
import { readRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const providerNames = ["github", "gitlab", "bitbucket", "google"] as const;
type ProviderName = (typeof providerNames)[number];

const publicUrl = "http://127.0.0.1:47391";
let providers: Record<ProviderName, FakeProvider>;
beforeAll(async () => {
  const callback = `${publicUrl}/api/auth/callback`;
  const [github, gitlab, bitbucket, google] = await Promise.all([
    startPlainProvider("github"),
    startOpenIdProvider(callback),
    startPlainProvider("bitbucket"),
    startOpenIdProvider(callback),
  ]);
  providers = { github, gitlab, bitbucket, google };
});
afterAll(() => Promise.all(Object.values(providers).map(({ close }) => close())));
const { plane } = planeForFile(() => ({
  ...Object.fromEntries(
    providerNames.flatMap((name) => [
      [`${name.toUpperCase()}_CLIENT_ID`, "client"],
      [`${name.toUpperCase()}_CLIENT_SECRET`, "client-secret"],
      [`${name.toUpperCase()}_BASE_URL`, providers[name].url],
    ]),
  ),
  WINDLASS_PUBLIC_URL: publicUrl,
  WINDLASS_SIGN_IN_ALLOW: "*",
}));

let subjects = 1000;
beforeEach(() => {
  for (const { person } of Object.values(providers))
    Object.assign(person, {
      subject: String((subjects += 1)),
      email: "ada@example.com",
      verified: true,
    });
});

const isCallback = (url: string) => url.startsWith(publicUrl);
/** The server listens on a port of its own: replaces its public address by the real one. */
const local = (url: string) => url.replace(publicUrl, plane.url);

/** Goes to the provider and stops where it redirects back. */
const leave = (browser: TestBrowser, name: ProviderName, query = "") =>
  browser.visit(`${plane.url}/api/auth/login/${name}${query}`, isCallback);

async function goThrough(browser: TestBrowser, name: ProviderName, query = "") {
  const { url } = await leave(browser, name, query);
  return browser.visit(local(url), (next) => !next.includes("/api/auth/"));
}

const users = () => readRows(plane, "users");
const entriesOf = (user: string) => readRows(plane, "audit_entries", { owner_id: user });
const accounts = () => readRows(plane, "accounts");

describe.each(providerNames)("sign-in with %s", (name) => {
  test("redirects to the requested page, and recognises the same account again", async () => {
    const before = (await users()).length;
    const { url, way } = await (async () => {
      const browser = new TestBrowser();
      const started = await leave(browser, name, "?next=/jobs%3Fa=1");
      const sent = new URL(started.way[1] ?? "").searchParams;
      expect(sent.get("code_challenge_method")).toBe("S256");
      expect(sent.get("redirect_uri")).toBe(`${publicUrl}/api/auth/callback`);
      return browser.visit(local(started.url), (next) => next.includes("/jobs"));
    })();
    expect([url, way.length]).toEqual([`${plane.url}/jobs?a=1`, 2]);
    await goThrough(new TestBrowser(), name);
    expect(await users()).toHaveLength(before + 1);
  });

  test("shows the user's e-mail, and stores no token in clear", async () => {
    const browser = new TestBrowser();
    await goThrough(browser, name);
    const { status, text } = await browser.visit(`${plane.url}/`);
    expect(status).toBe(200);
    expect(text).toContain("ada@example.com");
    const [account] = (await accounts()).slice(-1);
    expect(account).toMatchObject({ provider: name, subject: providers[name].person.subject });
    expect(Buffer.from(account?.access_token ?? "", "base64url")[0]).toBe(1);
  });

  test("writes audit entries for the sign-in and for a renewal, but not for a refusal", async () => {
    const browser = new TestBrowser();
    await goThrough(browser, name);
    const [account] = (await accounts()).slice(-1);
    const mine = () => entriesOf(account?.user_id ?? "");
    const signedIn = await mine();
    expect(signedIn).toMatchObject([{ action: "login.create", ip_address: "127.0.0.1" }]);
    expect(JSON.parse(signedIn[0]?.details ?? "")).toEqual({ way: name });
    // Again, by the signed-in user: the account is renewed.
    await goThrough(browser, name);
    const [, connected, ...more] = await mine();
    expect(connected).toMatchObject({
      action: "account.connect",
      actor_kind: "session",
      actor_id: signedIn[0]?.target_id,
      target_id: account?.subject,
      details: JSON.stringify({ provider: name }),
    });
    expect(more).toEqual([]);
    const otherBrowser = new TestBrowser();
    await otherBrowser.visit(plane.url + (await newLink(plane, `${account?.subject}@example.com`)));
    expect((await goThrough(otherBrowser, name)).status).toBe(409);
    expect(await mine()).toHaveLength(2);
  });

  test("refuses an unverified e-mail", async () => {
    providers[name].person.verified = false;
    const before = (await accounts()).length;
    const { status, text } = await goThrough(new TestBrowser(), name);
    expect(status).toBe(403);
    expect(text).toContain("no verified e-mail");
    expect(await accounts()).toHaveLength(before);
  });

  test("refuses a code that was used before", async () => {
    const browser = new TestBrowser();
    const { url } = await leave(browser, name);
    const { host } = new URL(plane.url);
    const jar = new Map(browser.jars.get(host));
    expect((await browser.visit(local(url), (next) => next.endsWith("/"))).status).toBe(303);
    browser.jars.set(host, jar);
    const { status } = await browser.visit(local(url));
    expect(status).toBe(400);
  });
});

describe("the callback", () => {
  test("refuses a browser that did not begin the sign-in", async () => {
    const { url } = await leave(new TestBrowser(), "github");
    const { status, text } = await new TestBrowser().visit(local(url));
    expect([status, text]).toEqual([400, expect.stringContaining("in another browser")]);
  });

  test("refuses the state of another sign-in", async () => {
    const browser = new TestBrowser();
    const { url } = await leave(new TestBrowser(), "github");
    await leave(browser, "github");
    const { status, text } = await browser.visit(local(url));
    expect([status, text]).toEqual([400, expect.stringContaining("did not begin this sign-in")]);
  });

  test("refuses another provider's code under its own state", async () => {
    const browser = new TestBrowser();
    const theirs = new URL((await leave(new TestBrowser(), "bitbucket")).url);
    const own = new URL(local((await leave(browser, "gitlab")).url));
    own.searchParams.set("code", theirs.searchParams.get("code") ?? "");
    expect((await browser.visit(own.href)).status).toBe(400);
  });

  test("explains the provider's refusal without repeating its text", async () => {
    const browser = new TestBrowser();
    const url = new URL(local((await leave(browser, "github")).url));
    url.searchParams.delete("code");
    url.searchParams.set("error", "access_denied");
    url.searchParams.set("error_description", "<script>");
    const { status, text } = await browser.visit(url.href);
    expect([status, text]).toEqual([400, expect.stringContaining("You declined at GitHub")]);
    expect(text).not.toContain("script");
  });

  test.each(["https://evil.example/", "//evil.example", "/\\evil.example"])(
    "redirects to a path of this site, not to %s",
    async (next) => {
      const query = `?next=${encodeURIComponent(next)}`;
      const { url } = await goThrough(new TestBrowser(), "github", query);
      expect(url).toBe(`${plane.url}/`);
    },
  );
});

describe("accounts", () => {
  test("with the same e-mail are two users, unless a signed-in user adds the other account", async () => {
    const before = (await users()).length;
    const browser = new TestBrowser();
    await goThrough(browser, "github");
    await goThrough(new TestBrowser(), "gitlab");
    expect(await users()).toHaveLength(before + 2);
    await goThrough(browser, "bitbucket");
    expect(await users()).toHaveLength(before + 2);
    const taken = await goThrough(browser, "gitlab");
    expect(taken).toMatchObject({ status: 409, text: expect.stringContaining("another user") });
  });

  test("are joined to the user of an operator's link only when that user adds them", async () => {
    await goThrough(new TestBrowser(), "github");
    const browser = new TestBrowser();
    await browser.visit(plane.url + (await newLink(plane, "ada@example.com")));
    const before = (await users()).length;
    const taken = await goThrough(browser, "github");
    expect(taken.status).toBe(409);
    await goThrough(browser, "google");
    expect(await users()).toHaveLength(before);
    const account = (await accounts()).find(
      ({ subject }) => subject === providers.google.person.subject,
    );
    const person = (await users()).find(({ id }) => id === account?.user_id);
    expect(person?.link_email).toBe("ada@example.com");
  });

  test("at GitHub list repositories once a signed-in user has connected them", async () => {
    const browser = new TestBrowser();
    const scope = async () => {
      const { url, way } = await leave(browser, "github");
      await browser.visit(local(url), (next) => !next.includes("/api/auth/"));
      return new URL(way[1] ?? "").searchParams.get("scope");
    };
    const list = () => browser.visit(`${plane.url}/api/cli/repositories/github`);
    expect(await scope()).toBe("user:email");
    const connect = "Connect GitHub repositories";
    expect(await list()).toMatchObject({ status: 409, text: expect.stringContaining(connect) });
    expect((await browser.visit(`${plane.url}/settings`)).text).toContain(connect);
    expect(await scope()).toBe("user:email repo");
    expect(await list()).toMatchObject({ status: 200, text: expect.stringContaining("network") });
    // The next sign-in, of another browser, leaves them connected.
    await goThrough(new TestBrowser(), "github");
    expect((await list()).status).toBe(200);
  });

  test("of a code host give the client the user's own provider token", async () => {
    const browser = new TestBrowser();
    await goThrough(browser, "github");
    const cookie = [...(browser.jars.get(new URL(plane.url).host) ?? [])]
      .map(([name, value]) => `${name}=${value}`)
      .join("; ");
    const headers = { cookie, origin: plane.url };
    const tokens = await signIn(plane, { headers });
    expect(tokens.provider_token).toMatch(/^ey/);
    const other = await signIn(plane, await openPerson(plane));
    expect(other.provider_token).toBeNull();
  });
});

test("the sign-in page offers the configured providers, and other providers return 404", async () => {
  const browser = new TestBrowser();
  const { text } = await browser.visit(`${plane.url}/login?next=/jobs`);
  for (const name of providerNames) expect(text).toContain(`/api/auth/login/${name}?next=%2Fjobs`);
  expect((await browser.visit(`${plane.url}/api/auth/login/myspace`)).status).toBe(404);
});

test("a provider that cannot be reached is reported on a page", async () => {
  const settings = plane.context.providers.gitlab;
  if (!settings) throw new Error("gitlab is off");
  const down = { ...settings, baseUrl: "http://127.0.0.1:1" };
  Object.assign(plane.context.providers, { gitlab: down });
  const { status, text } = await leave(new TestBrowser(), "gitlab");
  Object.assign(plane.context.providers, { gitlab: settings });
  expect([status, text]).toEqual([424, expect.stringContaining("GitLab cannot be reached")]);
});
