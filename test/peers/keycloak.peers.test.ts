/** Sign-in with a real Keycloak: what it says of people and groups, and what ends there. */
import { request } from "undici";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { companySignIn, publicUrl } from "../helpers/people/company-sign-in.ts";
import {
  clientSecret,
  lackOfKeycloak,
  passwordOf,
  startKeycloak,
  type Keycloak,
} from "../helpers/people/keycloak.ts";
import { TestBrowser } from "../helpers/people/providers.ts";
import { signIn as signInClient } from "../helpers/people/sign-in.ts";
import { openTeam } from "../helpers/people/teams.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { ask, readRow, readRows } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { skipAt } from "../helpers/project/tools.ts";

const minute = 60_000;
skipAt(lackOfKeycloak);

const folder = folderForFile();
let keycloak: Keycloak | undefined;
beforeAll(async () => {
  if (lackOfKeycloak !== undefined) return;
  keycloak = await startKeycloak(
    folder,
    publicUrl,
    ["engineers", "leads"],
    [
      { name: "ada", isVerified: true, groups: ["engineers"] },
      { name: "bob", isVerified: false, groups: [] },
    ],
  );
}, 10 * minute);
afterAll(() => keycloak?.[Symbol.asyncDispose]());

const { plane } = planeForFile(() => ({
  WINDLASS_OIDC_ISSUER: keycloak?.realm ?? "https://id.example.com",
  WINDLASS_OIDC_CLIENT_ID: "windlass",
  WINDLASS_OIDC_CLIENT_SECRET: clientSecret,
  WINDLASS_OIDC_SCOPES: "openid email profile",
  WINDLASS_PUBLIC_URL: publicUrl,
}));
const { allow, isIn, staysIn, wait } = companySignIn(plane);
beforeEach(() => allow("oidc:*"));

/** Signs in by the form of Keycloak, whose cookies are for https only. */
async function enter(user: string) {
  const browser = new TestBrowser();
  const page = await browser.visit(`${plane.url}/api/auth/login/oidc?next=/settings`);
  const action = /action="([^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const jar = browser.jars.get(new URL(action).host)!;
  const cookies = () => [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  const fields = { username: user, password: passwordOf(user), credentialId: "" };
  const posted = await request(action, {
    method: "POST",
    headers: { cookie: cookies(), "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields).toString(),
  });
  await posted.body.dump();
  for (const line of [posted.headers["set-cookie"] ?? []].flat()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    jar.set(name, value);
  }
  const back = new URL(String(posted.headers.location));
  const visit = await browser.visit(plane.url + back.pathname + back.search);
  const session = browser.jars.get(new URL(plane.url).host)?.get("windlass_session") ?? "";
  const headers = { cookie: `windlass_session=${session}`, origin: plane.url };
  return { ...visit, back, cookies, headers };
}

const change: Keycloak["change"] = (...of) => keycloak!.change(...of);
const find = async (what: "users" | "groups", name: string): Promise<string> => {
  const query = what === "users" ? `username=${name}&exact=true` : `search=${name}`;
  const [found] = await change<{ id: string }[]>("GET", `/${what}?${query}`);
  return found!.id;
};
const groupsOf = async (subject: string) =>
  JSON.parse((await readRow(plane, "accounts", { subject })).groups ?? "null") as unknown;

test("a person signs in with groups, which are asked for anew and give a role in a team", async () => {
  const ada = await find("users", "ada");
  allow("oidc:group//engineers");
  const { status, back, headers } = await enter("ada");
  expect(status).toBe(200);
  expect(back.searchParams.get("iss")).toBe(keycloak!.realm);
  expect(await groupsOf(ada)).toEqual(["/engineers"]);
  const [session] = await readRows(plane, "provider_sessions", { subject: ada });
  expect(session?.sid).not.toBeNull();
  expect(session?.refresh_token).not.toBeNull();

  const { admin, params } = await openTeam(plane);
  await admin.client.call("replaceTeamGroups", {
    params,
    body: {
      groups: [
        { issuer: "oidc", group: "/engineers", role: "planner" },
        { issuer: "oidc", group: "/leads", role: "admin" },
      ],
    },
  });
  const role = async () =>
    (await admin.client.call("listMembers", { params })).members.find(
      ({ email }) => email === "ada@example.com",
    )?.role;
  expect(await role()).toBe("planner");
  const leads = `/users/${ada}/groups/${await find("groups", "leads")}`;
  await change("PUT", leads);
  await wait(ada, 16 * minute);
  expect(await staysIn(headers)).toBe(true);
  expect(await role()).toBe("admin");
  await change("DELETE", leads);
  const engineers = `/users/${ada}/groups/${await find("groups", "engineers")}`;
  await change("DELETE", engineers);
  await wait(ada, 16 * minute);
  // Only the group had permitted the person.
  expect(await staysIn(headers)).toBe(false);
  expect(await role()).toBeUndefined();
  expect(await groupsOf(ada)).toEqual([]);
  await change("PUT", engineers);
});

test("a person without groups and without a verified address matches only oidc:*", async () => {
  allow("@example.com", "oidc:group//engineers");
  expect((await enter("bob")).status).toBe(403);
  allow("oidc:*");
  const { status, text } = await enter("bob");
  expect(status).toBe(200);
  expect(text).toContain("bob@example.com (not verified)");
  expect(await groupsOf(await find("users", "bob"))).toEqual([]);
});

test("a new key signs at once, at sign-ins and renewals", async () => {
  const { id: parentId } = await change<{ id: string }>("GET", "");
  const before = await enter("ada");
  await change("POST", "/components", {
    name: "new-key",
    providerId: "rsa-generated",
    providerType: "org.keycloak.keys.KeyProvider",
    parentId,
    config: { priority: ["200"], keySize: ["2048"] },
  });
  await wait(await find("users", "ada"), 16 * minute);
  expect(await staysIn(before.headers)).toBe(true);
  expect((await enter("ada")).status).toBe(200);
});

test("the end of a session there ends its browser and its client here", async () => {
  const [client] = await change<{ id: string; attributes: Record<string, string> }[]>(
    "GET",
    "/clients?clientId=windlass",
  );
  const address = `${plane.url}/api/auth/oidc/backchannel-logout`;
  await change("PUT", `/clients/${client!.id}`, {
    ...client,
    attributes: { ...client!.attributes, "backchannel.logout.url": address },
  });
  const { headers } = await enter("ada");
  const other = await enter("bob");
  const { refresh_token } = await signInClient(plane, { headers });
  await change("POST", `/users/${await find("users", "ada")}/logout`);
  await expect.poll(() => isIn(headers)).toBe(false);
  const refreshed = await ask(plane, "POST", "/api/auth/cli/refresh", { json: { refresh_token } });
  expect(refreshed.status).toBe(401);
  expect(await isIn(other.headers)).toBe(true);
});

test("a sign-out here ends the session there", async () => {
  const { headers, cookies } = await enter("ada");
  const answer = await ask(plane, "POST", "/logout", { headers });
  const left = await request(String(answer.headers["location"]), {
    headers: { cookie: cookies() },
  });
  await left.body.dump();
  expect([left.statusCode, left.headers.location]).toEqual([302, `${publicUrl}/login`]);
  const ada = await find("users", "ada");
  expect(await change("GET", `/users/${ada}/sessions`)).toEqual([]);
});

test("a disabled person is signed out at the next question", async () => {
  const ada = await find("users", "ada");
  const { headers } = await enter("ada");
  await change("PUT", `/users/${ada}`, { enabled: false });
  expect(await isIn(headers)).toBe(true);
  await wait(ada, 16 * minute);
  expect(await staysIn(headers)).toBe(false);
});
