/** What becomes of the logins of people who are no longer permitted, with real OAuth servers. */
import { beforeEach, describe, expect, test } from "vitest";
import { signInWithAccount } from "../../../../control-plane/services/people/accounts.ts";
import { mayStay } from "../../../../control-plane/services/people/admission.ts";
import { ask, setRows, readRow, readRows } from "../../../helpers/plane/plane.ts";
import { providersForFile } from "./provider-sign-in.ts";
import { TestBrowser } from "../../../helpers/people/providers.ts";
import { agedHeaders, origin, signIn as signInClient } from "../../../helpers/people/sign-in.ts";
import { addTeam } from "../../../helpers/people/teams.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

const { plane, providers, nextPerson, allow, signIn } = providersForFile();
let organisation: string;
beforeEach(() => {
  nextPerson();
  organisation = "/api/v3/user/memberships/orgs/acme";
});

const [hour, day] = [3_600_000, 24 * 3_600_000];

const headersOf = (browser: TestBrowser) => {
  const cookies = [...(browser.jars.get(new URL(plane.url).host) ?? [])];
  const cookie = cookies
    .map(([name, value]) => `${name}=${value}`)
    .find((one) => one.startsWith("windlass_session="));
  return { cookie: cookie ?? "", origin: plane.url };
};

/** Signs in a browser and a client; says who it is. */
async function enter() {
  const browser = new TestBrowser();
  expect((await signIn("github", browser)).isIn).toBe(true);
  const headers = headersOf(browser);
  const { refresh_token } = await signInClient(plane, { headers });
  const found = await plane.context.store.read.sql
    .selectFrom("users")
    .select("id")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirstOrThrow();
  return { user: found.id, headers, refresh_token };
}

const member = (status = 200, body: unknown = { state: "active" }) =>
  providers.github.memberships.set(organisation, { status, body });
const refresh = (refresh_token: string) =>
  ask(plane, "POST", "/api/auth/cli/refresh", { json: { refresh_token } });
/** The last answer was so long ago. */
const wait = (user: string, milliseconds: number) =>
  setRows(plane, "users", { asked_at: Date.now() - milliseconds }, { id: user });
const isIn = async (headers: { cookie: string; origin: string }) =>
  (await ask(plane, "GET", "/settings", { headers })).status === 200;
const signOuts = (user: string) =>
  readRows(plane, "audit_entries", { action: "user.sign_out", owner_id: user });

/** An open invitation, and what its team says about its members. */
async function invite(role: "viewer" | "admin" = "viewer", email?: string) {
  const admin = await addTestUser(plane);
  const { slug } = await addTeam(plane, admin);
  const { link } = await admin.client.call("createInvitation", {
    params: { slug },
    body: { role, ...(email === undefined ? {} : { email }) },
  });
  const members = async () =>
    (await admin.client.call("listMembers", { params: { slug } })).members;
  return { admin, slug, path: new URL(link).pathname, members };
}

describe("a sign-up by an invitation", () => {
  test("joins the team and uses the invitation up: of many people, one comes in", async () => {
    const { path, slug, members } = await invite();
    const before = (await members()).length;
    const visits = [];
    for (let index = 0; index < 3; index += 1) {
      nextPerson();
      providers.github.person.email = `unknown-${index}@example.org`;
      visits.push(await signIn("github", new TestBrowser(), path, `/?team=${slug}`));
    }
    expect(visits.map((one) => one.isIn)).toEqual([true, false, false]);
    const after = await members();
    expect(after).toHaveLength(before + 1);
    expect(after.map(({ email }) => email)).toContain("unknown-0@example.org");
    const users = await plane.context.store.read.sql
      .selectFrom("users")
      .select("email")
      .where("email", "like", "unknown-%")
      .execute();
    expect(users).toEqual([{ email: "unknown-0@example.org" }]);
  });

  test("is one of two at the same time, and the other one leaves nothing", async () => {
    const { path } = await invite();
    const signUp = (subject: string) =>
      signInWithAccount(
        plane.context,
        {
          provider: "github",
          subject,
          email: `${subject}@example.org`,
          verified: [],
          tokens: {
            access_token: "token",
            subject,
            refresh_token: undefined,
            expires_in: undefined,
          },
          invitation: path.split("/").at(-1),
        },
        undefined,
        origin,
      );
    const [first, second] = await Promise.allSettled([signUp("racer-1"), signUp("racer-2")]);
    expect([first?.status, second]).toEqual([
      "fulfilled",
      { status: "rejected", reason: expect.objectContaining({ code: "invitation_used" }) },
    ]);
    const accounts = await plane.context.store.read.sql
      .selectFrom("accounts")
      .select("subject")
      .where("subject", "like", "racer-%")
      .execute();
    expect(accounts).toEqual([{ subject: "racer-1" }]);
  });

  test("is only for the address of the invitation, and permits as long as the membership", async () => {
    const { admin, path, slug, members } = await invite("viewer", "ada@example.com");
    providers.github.person.email = "eve@example.com";
    expect((await signIn("github", new TestBrowser(), path)).isIn).toBe(false);
    providers.github.person.email = "ada@example.com";
    const browser = new TestBrowser();
    expect((await signIn("github", browser, path, `/?team=${slug}`)).isIn).toBe(true);
    expect((await signIn()).isIn).toBe(true);
    const headers = await agedHeaders(plane, headersOf(browser), 61_000);
    expect(await isIn(headers)).toBe(true);
    const ada = (await members()).find(({ email }) => email === "ada@example.com");
    await admin.client.call("removeMember", {
      params: { slug, user_id: ada?.user_id ?? "" },
    });
    expect((await signIn()).isIn).toBe(false);
    expect(await isIn(headers)).toBe(false);
  });
});

describe("an address that is no longer allowed", () => {
  test("ends a client's login at its next refresh, and all others with it", async () => {
    allow("@example.com");
    const { user, headers, refresh_token } = await enter();
    const { refresh_token: next } = (await refresh(refresh_token)).json() as Record<string, string>;
    allow("@example.org");
    expect(await isIn(headers)).toBe(true);
    const refused = await refresh(next ?? "");
    expect([refused.status, refused.json()["code"]]).toEqual([401, "invalid_refresh_token"]);
    expect(await isIn(headers)).toBe(false);
    expect(await signOuts(user)).toMatchObject([
      { actor_kind: "system", details: '{"reason":"not_permitted","logins":2}' },
    ]);
  });

  test("ends a session at its next renewal", async () => {
    allow("@example.com");
    const { headers, refresh_token } = await enter();
    const aged = await agedHeaders(plane, headers, 61_000);
    expect(await isIn(aged)).toBe(true);
    allow();
    expect(await isIn(aged)).toBe(false);
    expect((await refresh(refresh_token)).status).toBe(401);
  });

  test("ends nothing of a person with another verified address that is allowed", async () => {
    providers.github.others.set("ada@corp.example", true);
    allow("ada@corp.example");
    const { headers } = await enter();
    allow("@corp.example");
    expect(await isIn(await agedHeaders(plane, headers, 61_000))).toBe(true);
  });

  test("is looked up once at the provider for an account of an older version", async () => {
    providers.github.others.set("ada@corp.example", true);
    allow("@corp.example");
    const { user, headers } = await enter();
    await setRows(plane, "accounts", { verified: null }, { user_id: user });
    expect(await isIn(await agedHeaders(plane, headers, 61_000))).toBe(true);
    const { verified } = await readRow(plane, "accounts", { user_id: user });
    expect(JSON.parse(verified ?? "")).toContain("ada@corp.example");
  });
});

describe("a group", () => {
  beforeEach(() => {
    allow("github:org/acme");
    member();
  });

  test("is asked at most hourly; a no ends every login", async () => {
    const { user, headers, refresh_token } = await enter();
    member(404);
    expect(await mayStay(plane.context, user)).toBe(true);
    await wait(user, hour + 1);
    expect(await mayStay(plane.context, user)).toBe(false);
    expect(await isIn(headers)).toBe(false);
    expect((await refresh(refresh_token)).status).toBe(401);
    expect((await signIn()).isIn).toBe(false);
  });

  test("that does not answer keeps the logins for a day", async () => {
    const { user } = await enter();
    member(500);
    await wait(user, 3 * day);
    expect(await mayStay(plane.context, user)).toBe(true);
    const since = (milliseconds: number) =>
      setRows(plane, "users", { unanswered_since: Date.now() - milliseconds }, { id: user });
    await since(day - 60_000);
    await wait(user, hour + 1);
    expect(await mayStay(plane.context, user)).toBe(true);
    member();
    await wait(user, hour + 1);
    expect(await mayStay(plane.context, user)).toBe(true);
    member(500);
    await wait(user, hour + 1);
    expect(await mayStay(plane.context, user)).toBe(true);
    await since(day + 1);
    await wait(user, hour + 1);
    expect(await mayStay(plane.context, user)).toBe(false);
  });

  test("does not end the logins of a member who returns after days with many requests", async () => {
    const { user, headers } = await enter();
    await wait(user, 3 * day);
    await setRows(plane, "users", { unanswered_since: Date.now() - 3 * day }, { id: user });
    const aged = await agedHeaders(plane, headers, 61_000);
    const opened = await Promise.all(Array.from({ length: 20 }, () => isIn(aged)));
    expect(opened).toEqual(opened.map(() => true));
    expect(await signOuts(user)).toEqual([]);
  });

  test("whose no comes after a new sign-in ends nothing", async () => {
    const { user } = await enter();
    await wait(user, hour + 1);
    member(404);
    const write = plane.context.store.write.bind(plane.context.store);
    let isFirst = true;
    // The sign-in is between the turn to ask and the answer.
    const context = {
      ...plane.context,
      store: Object.create(plane.context.store, {
        write: {
          value: async (work: never) => {
            const result = await write(work);
            if (isFirst) {
              isFirst = false;
              member();
              expect((await signIn()).isIn).toBe(true);
              member(404);
            }
            return result;
          },
        },
      }) as typeof plane.context.store,
    };
    expect(await mayStay(context, user)).toBe(true);
    expect(await signOuts(user)).toEqual([]);
  });
});
