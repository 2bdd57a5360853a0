/** Sign-in with the OpenID Connect provider of a company, and what ends it. */
import { randomUUID } from "node:crypto";
import { generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mayStay } from "../../../../control-plane/services/people/admission.ts";
import { ask, readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  startCompanyProvider,
  type CompanyProvider,
} from "../../../helpers/people/company-provider.ts";
import { TestBrowser } from "../../../helpers/people/providers.ts";
import { companySignIn, publicUrl } from "../../../helpers/people/company-sign-in.ts";
import { newLink, signIn as signInClient } from "../../../helpers/people/sign-in.ts";

const [minute, hour] = [60_000, 3_600_000];
let company: CompanyProvider;
beforeAll(async () => {
  company = await startCompanyProvider(`${publicUrl}/api/auth/callback`);
});
afterAll(() => company.close());
const { plane } = planeForFile(() => ({
  WINDLASS_OIDC_ISSUER: company.url,
  WINDLASS_OIDC_CLIENT_ID: "client",
  WINDLASS_OIDC_CLIENT_SECRET: "client-secret",
  WINDLASS_OIDC_NAME: "Acme",
  WINDLASS_PUBLIC_URL: publicUrl,
}));

const { allow, person, enter, isIn, staysIn, sessionsOf, wait } = companySignIn(
  plane,
  () => company,
);

beforeEach(() => {
  Object.assign(company, {
    forge: undefined,
    isMissigned: false,
    isDown: false,
    hasNoIdToken: false,
  });
  allow("oidc:*");
});

const logout = (token: string, name = "oidc") =>
  ask(plane, "POST", `/api/auth/${name}/backchannel-logout`, {
    body: new URLSearchParams({ logout_token: token }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
const logoutClaims = () => ({
  iss: company.url,
  aud: "client",
  iat: Math.floor(plane.context.now() / 1000),
  exp: Math.floor(plane.context.now() / 1000) + 120,
  jti: randomUUID(),
  events: { "http://schemas.openid.net/event/backchannel-logout": {} },
});

describe("a sign-in", () => {
  test("shows the provider by its name, and stores no token in clear", async () => {
    const { subject, email } = person();
    const page = await new TestBrowser().visit(`${plane.url}/login`);
    expect(page.text).toContain("Continue with Acme");
    const { url, text } = await enter();
    expect(url).toBe(`${plane.url}/settings`);
    expect(text).toContain(email);
    const [session] = await sessionsOf(subject);
    for (const sealed of [session?.id_token, session?.refresh_token])
      expect(Buffer.from(sealed ?? "", "base64url")[0]).toBe(1);
    expect(await readRow(plane, "accounts", { subject })).toMatchObject({
      provider: "oidc",
      host: new URL(company.url).host,
    });
  });

  test.each([
    ["oidc:*", { email_verified: false }, 200],
    ["oidc:group/engineers", { groups: ["staff", "engineers"] }, 200],
    ["oidc:group/engineers", { groups: "engineers" }, 200],
    ["oidc:group/engineers", { groups: ["engineers-emeritus"] }, 403],
    ["oidc:group/engineers", {}, 403],
    ["oidc_2:group/engineers", { groups: ["engineers"] }, 403],
    ["oidc_2:*", {}, 403],
    ["@example.com", {}, 200],
    ["@example.com", { email_verified: false }, 403],
    ["@example.com", { email_verified: "true" }, 403],
    ["*", { email_verified: false }, 403],
  ] as const)("with %s and %j returns %i", async (entry, claims, status) => {
    const { subject } = person(claims);
    allow(entry);
    expect((await enter()).status).toBe(status);
    expect(await readRows(plane, "accounts", { subject })).toHaveLength(status === 200 ? 1 : 0);
  });

  test("shows an unverified address, which matches nothing", async () => {
    const verified = person();
    await enter();
    const { subject } = person({ email: verified.email, email_verified: false });
    const { text } = await enter();
    expect(text).toContain(`${verified.email} (not verified)`);
    const [first, second] = [
      await readRow(plane, "accounts", { subject: verified.subject }),
      await readRow(plane, "accounts", { subject }),
    ];
    expect(second?.user_id).not.toBe(first?.user_id);
    // An operator blocks the person who has the address.
    await setRows(plane, "users", { blocked_at: 1 }, { id: first?.user_id });
    expect((await enter()).status).toBe(200);
  });

  test("goes on when the provider gets another number", async () => {
    const { subject } = person();
    await enter();
    const { providers } = plane.context;
    Object.assign(plane.context, { providers: { oidc_2: providers.oidc } });
    try {
      allow("oidc_2:*");
      expect((await enter(undefined, "oidc_2")).status).toBe(200);
    } finally {
      Object.assign(plane.context, { providers });
    }
    expect(await readRows(plane, "accounts", { subject })).toHaveLength(1);
  });

  test.each<[string, (claims: Record<string, unknown>) => Record<string, unknown>]>([
    ["issuer", (claims) => ({ ...claims, iss: "https://other.example.com" })],
    ["audience", (claims) => ({ ...claims, aud: "another-client" })],
    ["nonce", (claims) => ({ ...claims, nonce: "another" })],
    ["several audiences without azp", (claims) => ({ ...claims, aud: ["client", "other"] })],
    ["end", (claims) => ({ ...claims, exp: 1 })],
  ])("refuses an ID token with a wrong %s", async (_, forge) => {
    const { subject } = person();
    company.forge = forge as CompanyProvider["forge"];
    expect((await enter()).status).toBeGreaterThanOrEqual(400);
    expect(await readRows(plane, "accounts", { subject })).toEqual([]);
  });

  test("refuses an answer that says it is of another issuer", async () => {
    const { subject } = person();
    const browser = new TestBrowser();
    const { url } = await browser.visit(`${plane.url}/api/auth/login/oidc`, (next) =>
      next.startsWith(publicUrl),
    );
    const back = new URL(url.replace(publicUrl, plane.url));
    expect(back.searchParams.get("iss")).toBe(company.url);
    back.searchParams.set("iss", "https://other.example.com");
    expect((await browser.visit(back.href)).status).toBeGreaterThanOrEqual(400);
    expect(await readRows(plane, "accounts", { subject })).toEqual([]);
  });

  test("gives up on a provider that never answers", async () => {
    const { subject } = person();
    const settings = plane.context.providers.oidc!;
    const patience = settings.timeoutMilliseconds;
    Object.assign(settings, { timeoutMilliseconds: 300 });
    company.isSilent = true;
    try {
      expect((await enter()).status).toBe(424);
    } finally {
      company.isSilent = false;
      Object.assign(settings, { timeoutMilliseconds: patience });
    }
    expect(await readRows(plane, "accounts", { subject })).toEqual([]);
  });

  test("works right after each new key of the provider, for many people at once", async () => {
    person();
    expect((await enter()).status).toBe(200);
    company.forge = (claims) => claims;
    for (let count = 0; count < 2; count += 1) {
      await company.rotate();
      const before = company.keysFetched;
      const visits = await Promise.all([1, 2, 3, 4].map(() => enter()));
      expect(visits.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(company.keysFetched).toBe(before + 1);
    }
  });

  test("says why there are no groups when the provider leaves them out", async () => {
    person({ _claim_names: { groups: "src1" } });
    const { text } = await enter();
    expect(text).toContain("Acme has left out your groups");
    allow("oidc:group/engineers");
    expect((await enter()).text).toContain("Acme has left out your groups");
  });
});

describe("a session at the provider", () => {
  test("is renewed after a quarter of an hour, once for many requests", async () => {
    const { subject } = person({ groups: ["engineers"] });
    allow("oidc:group/engineers");
    const { headers } = await enter();
    const before = company.asked;
    expect(await staysIn(headers)).toBe(true);
    expect(company.asked).toBe(before);
    await wait(subject, 16 * minute);
    expect(await Promise.all([1, 2, 3].map(() => staysIn(headers)))).toEqual([true, true, true]);
    await expect.poll(() => company.asked).toBe(before + 1);
    company.people.set(subject, { groups: ["staff"] });
    await wait(subject, 16 * minute);
    expect(await staysIn(headers)).toBe(false);
    expect(JSON.parse((await readRow(plane, "accounts", { subject }))?.groups ?? "")).toEqual([
      "staff",
    ]);
  });

  test("that the provider refuses ends its browser and its client at once, and no other login", async () => {
    const { subject } = person();
    const { headers, browser } = await enter();
    const { refresh_token } = await signInClient(plane, { headers });
    // The same person signs in with a link too.
    const other = new TestBrowser();
    const { user_id } = await readRow(plane, "accounts", { subject });
    await setRows(plane, "users", { link_email: `${subject}@link.test` }, { id: user_id });
    await other.visit(plane.url + (await newLink(plane, `${subject}@link.test`)));
    company.people.delete(subject);
    await wait(subject, 16 * minute);
    expect(await staysIn(headers)).toBe(false);
    const refreshed = await ask(plane, "POST", "/api/auth/cli/refresh", {
      json: { refresh_token },
    });
    expect(refreshed.status).toBe(401);
    expect((await other.visit(`${plane.url}/settings`)).url).toContain("/settings");
    expect((await browser.visit(`${plane.url}/settings`)).url).toContain("/login");
    const ended = await readRows(plane, "audit_entries", {
      owner_id: user_id,
      action: "login.revoke",
    });
    expect(ended.map(({ details }) => details)).toEqual([
      '{"reason":"refused_by_provider"}',
      '{"reason":"refused_by_provider"}',
    ]);
  });

  test("permits a person only while it goes on, also logins that came from elsewhere", async () => {
    const { subject } = person({ groups: ["engineers"] });
    allow("oidc:group/engineers");
    const { headers } = await enter();
    const { user_id } = await readRow(plane, "accounts", { subject });
    expect(await mayStay(plane.context, user_id)).toBe(true);
    company.people.delete(subject);
    await wait(subject, 16 * minute);
    expect(await staysIn(headers)).toBe(false);
    expect(await mayStay(plane.context, user_id)).toBe(false);
  });

  test("that was not used for days goes on when the provider says so", async () => {
    const { subject } = person();
    const { headers } = await enter();
    await wait(subject, 72 * hour);
    expect(await staysIn(headers)).toBe(true);
  });

  test.each<[string, (claims: Record<string, unknown>) => Record<string, unknown>, boolean]>([
    ["issuer", (claims) => ({ ...claims, iss: "https://other.example.com" }), true],
    ["audience", (claims) => ({ ...claims, aud: "another-client" }), true],
    ["end", (claims) => ({ ...claims, exp: 1 }), true],
    ["nonce", (claims) => ({ ...claims, nonce: "another" }), true],
    // The answer is about someone else.
    ["subject", (claims) => ({ ...claims, sub: "someone-else" }), false],
  ])("renewed with a wrong %s changes no groups", async (_, forge, stays) => {
    const { subject } = person({ groups: ["engineers"] });
    const { headers } = await enter();
    company.forge = forge as CompanyProvider["forge"];
    company.people.set(subject, { groups: ["admins"] });
    await wait(subject, 16 * minute);
    expect(await staysIn(headers)).toBe(stays);
    const { groups } = await readRow(plane, "accounts", { subject });
    expect(JSON.parse(groups ?? "")).toEqual(["engineers"]);
  });

  test("renewed without an ID token has the groups that user info says", async () => {
    const { subject } = person({ groups: ["engineers"] });
    const { headers } = await enter();
    company.hasNoIdToken = true;
    for (const groups of [["staff"], []]) {
      company.people.set(subject, { groups });
      await wait(subject, 16 * minute);
      expect(await staysIn(headers)).toBe(true);
      const row = await readRow(plane, "accounts", { subject });
      expect(JSON.parse(row.groups ?? "")).toEqual(groups);
    }
  });

  test("keeps its new refresh token when its ID token cannot be checked", async () => {
    const { subject } = person({ groups: ["engineers"] });
    const { headers } = await enter();
    const groups = async () => (await readRow(plane, "accounts", { subject })).groups;
    company.people.set(subject, { groups: ["admins"] });
    company.isMissigned = true;
    await wait(subject, 16 * minute);
    expect(await staysIn(headers)).toBe(true);
    expect(await groups()).toBe('["engineers"]');
    company.isMissigned = false;
    await wait(subject, 16 * minute);
    // This provider ends a session whose former refresh token comes again.
    expect(await staysIn(headers)).toBe(true);
    expect(await groups()).toBe('["admins"]');
  });

  test("goes on while the provider never answers, and no request waits for it twice", async () => {
    const { subject } = person();
    const { headers } = await enter();
    const settings = plane.context.providers.oidc!;
    const patience = settings.timeoutMilliseconds;
    Object.assign(settings, { timeoutMilliseconds: 300 });
    company.isSilent = true;
    try {
      await wait(subject, 16 * minute);
      const before = company.asked;
      expect(await staysIn(headers)).toBe(true);
      for (let count = 0; count < 5; count += 1) expect(await staysIn(headers)).toBe(true);
      expect(company.asked).toBe(before + 1);
    } finally {
      company.isSilent = false;
      Object.assign(settings, { timeoutMilliseconds: patience });
    }
  });

  test.each([
    [503, "temporarily_unavailable"],
    // Dex, about a removed person.
    [500, "invalid_request"],
    // Dex, after another sign-in of the same person.
    [400, "invalid_request"],
    [401, "invalid_client"],
  ])("goes on for a day without an answer, as with %i %s", async (status, error) => {
    const { subject } = person();
    const { headers } = await enter();
    Object.assign(company, { isDown: true, fault: { status, error } });
    await wait(subject, 23 * hour);
    expect(await staysIn(headers)).toBe(true);
    await wait(subject, 25 * hour);
    expect(await staysIn(headers)).toBe(false);
  });

  test("ends at the provider too when the person signs out", async () => {
    const { subject } = person();
    const { headers } = await enter();
    const page = await ask(plane, "GET", "/settings", { headers });
    expect(String(page.headers["content-security-policy"])).toContain(
      `form-action 'self' ${company.url};`,
    );
    const answer = await ask(plane, "POST", "/logout", { headers });
    const next = new URL(String(answer.headers["location"]));
    expect(next.origin + next.pathname).toBe(`${company.url}/session/end`);
    expect(next.searchParams.get("post_logout_redirect_uri")).toBe(`${publicUrl}/login`);
    expect(next.searchParams.get("id_token_hint")?.split(".")).toHaveLength(3);
    expect(await isIn(headers)).toBe(false);
    expect(subject).not.toBe("");
  });
});

describe("a back-channel logout", () => {
  test("ends the session that it names, with its device logins", async () => {
    const { subject } = person();
    const [first, second] = [await enter(), await enter()];
    const { refresh_token } = await signInClient(plane, { headers: first.headers });
    const [{ sid } = { sid: null }, other] = await sessionsOf(subject);
    expect(sid).not.toBe(other?.sid);
    const token = await company.logoutToken({ ...logoutClaims(), sub: subject, sid });
    expect((await logout(token)).status).toBe(200);
    expect([await isIn(first.headers), await isIn(second.headers)]).toEqual([false, true]);
    const refreshed = await ask(plane, "POST", "/api/auth/cli/refresh", {
      json: { refresh_token },
    });
    expect(refreshed.status).toBe(401);
    // Once: the person has signed in again meanwhile.
    expect((await logout(token)).status).toBe(400);
    const all = await company.logoutToken({ ...logoutClaims(), sub: subject });
    const another = await company.logoutToken({ ...logoutClaims(), sub: randomUUID() });
    expect((await logout(another)).status).toBe(200);
    expect(await isIn(second.headers)).toBe(true);
    expect((await logout(all)).status).toBe(200);
    expect(await isIn(second.headers)).toBe(false);
  });

  test("refuses a body beyond 64 KiB, also of a length that is not declared", async () => {
    const pieces = async function* () {
      for (let sent = 0; sent < 80; sent += 1) yield Buffer.alloc(1024, "x");
    };
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const path = "/api/auth/oidc/backchannel-logout";
    for (const body of [pieces(), "x".repeat(80 * 1024)])
      expect((await ask(plane, "POST", path, { body, headers })).status).toBe(413);
  });

  test("refuses what is no valid logout token of this provider", async () => {
    const { subject } = person();
    const { headers } = await enter();
    const claims = () => ({ ...logoutClaims(), sub: subject });
    const tokens = [
      "",
      "a.b.c",
      await company.logoutToken({ ...claims(), aud: "another" }),
      await company.logoutToken({ ...claims(), iss: "https://other.example.com" }),
      await company.logoutToken({ ...claims(), nonce: "n" }),
      await company.logoutToken({ ...claims(), events: {} }),
      await company.logoutToken({ ...claims(), iat: 1, exp: 2 }),
      await company.logoutToken({ ...claims(), exp: 2 }),
      await company.logoutToken(claims(), { typ: "at+jwt" }),
      await company.logoutToken(logoutClaims()),
      (await company.logoutToken(claims())).replace(/\.[^.]*$/, `.${"A".repeat(342)}`),
    ];
    for (const token of tokens) expect((await logout(token)).status).toBe(400);
    expect((await logout(await company.logoutToken(claims()), "oidc_2")).status).toBe(404);
    expect((await logout(await company.logoutToken(claims()), "github")).status).toBe(404);
    expect(await isIn(headers)).toBe(true);
  });

  // The last test: for a minute, no other key is looked for.
  test("signed with keys that do not exist makes the server fetch the keys seldom", async () => {
    person();
    const sign = new SignJWT({}).setProtectedHeader({ alg: "RS256", kid: "unknown" });
    const { privateKey } = await generateKeyPair("RS256");
    const token = await sign.sign(privateKey);
    const before = company.keysFetched;
    for (let count = 0; count < 20; count += 1) expect((await logout(token)).status).toBe(400);
    expect(company.keysFetched - before).toBeLessThanOrEqual(2);
  });
});
