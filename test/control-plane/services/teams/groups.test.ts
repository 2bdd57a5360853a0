/** Groups of a sign-in provider that make people members of teams. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { askForTokenHolders } from "../../../../control-plane/services/people/provider-sessions.ts";
import { pruneExpired } from "../../../../control-plane/services/people/logins.ts";
import {
  forgetOldGroups,
  teamsByGroupsLimit,
} from "../../../../control-plane/services/teams/group-members.ts";
import { teamsPerGroupLimit } from "../../../../control-plane/services/teams/groups.ts";
import { membersLimit } from "../../../../control-plane/services/teams/membership.ts";
import type { AuditAction } from "../../../../protocol/audit.ts";
import type { Role } from "../../../../protocol/roles.ts";
import type { TeamGroups } from "../../../../protocol/teams.ts";
import {
  startCompanyProvider,
  type CompanyProvider,
} from "../../../helpers/people/company-provider.ts";
import { companySignIn, publicUrl } from "../../../helpers/people/company-sign-in.ts";
import { acceptLink, callsWithin, openTeam, type TestTeam } from "../../../helpers/people/teams.ts";
import { bearer } from "../../../helpers/people/sign-in.ts";
import { ask, readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addRows } from "../../../helpers/plane/rows.ts";

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
let company: CompanyProvider;
beforeAll(async () => {
  company = await startCompanyProvider(`${publicUrl}/api/auth/callback`);
});
afterAll(() => company.close());
const { plane } = planeForFile(() => ({
  WINDLASS_OIDC_ISSUER: company.url,
  WINDLASS_OIDC_CLIENT_ID: "client",
  WINDLASS_OIDC_CLIENT_SECRET: "client-secret",
  WINDLASS_PUBLIC_URL: publicUrl,
}));
const { allow, person, enter, staysIn, wait } = companySignIn(plane, () => company);
beforeEach(() => {
  Object.assign(company, { forge: undefined, isDown: false });
  allow("oidc:*");
});

type Given = readonly [group: string, role: Role];
const admit = ({ admin, params }: TestTeam, ...given: Given[]) =>
  admin.client.call("replaceTeamGroups", {
    params,
    body: { groups: given.map(([group, role]) => ({ issuer: "oidc", group, role })) },
  });
const membersOf = async ({ admin, params }: TestTeam) =>
  (await admin.client.call("listMembers", { params })).members;
const refusal = (code: string) =>
  expect.objectContaining({ problem: expect.objectContaining({ code }) });

/** Signs someone in who is in these groups. */
async function signIn(...groups: string[]) {
  const { subject, email } = person({ groups });
  const { headers } = await enter();
  const { user_id: id } = await readRow(plane, "accounts", { subject });
  const memberOf = async (team: TestTeam) =>
    (await membersOf(team)).find((member) => member.user_id === id);
  /** Changes the groups at the provider, which is asked a quarter of an hour later. */
  const becomes = async (...later: string[]) => {
    company.people.set(subject, { email, email_verified: true, groups: later });
    await wait(subject, 16 * minute);
    await staysIn(headers);
  };
  return { subject, email, id, headers, memberOf, becomes };
}
const logOf = async ({ slug }: TestTeam, action: AuditAction) => {
  const { id } = await readRow(plane, "teams", { slug });
  const rows = await readRows(plane, "audit_entries", { owner_id: id, action });
  return rows.map(({ actor_kind, target_name, details }) => ({
    actor_kind,
    target_name,
    details: JSON.parse(details) as Record<string, unknown>,
  }));
};

describe("the groups of a team", () => {
  test("are replaced, and apply to known sign-ins at once", async () => {
    const team = await openTeam(plane);
    const [grace, other] = [await signIn("engineers", "staff"), await signIn("sales")];
    const groups = [
      { issuer: company.url, group: "engineers", role: "deployer", zones: {} },
      { issuer: company.url, group: "staff", role: "viewer", zones: {} },
    ];
    const answer = await admit(team, ["engineers", "deployer"], ["staff", "viewer"]);
    expect(answer).toEqual({ groups, version: expect.any(String) });
    const { admin, params } = team;
    expect(await admin.client.call("listTeamGroups", { params })).toEqual(answer);
    expect(await grace.memberOf(team)).toMatchObject({
      email: grace.email,
      role: "deployer",
      sources: ["group"],
      groups: ["engineers", "staff"],
    });
    expect(await other.memberOf(team)).toBeUndefined();
    await admit(team, ["staff", "viewer"], ["sales", "planner"]);
    expect(await grace.memberOf(team)).toMatchObject({ role: "viewer", groups: ["staff"] });
    expect(await other.memberOf(team)).toMatchObject({ role: "planner" });
    await admit(team);
    expect((await membersOf(team)).map(({ sources }) => sources)).toEqual([["invited"]]);
    expect((await logOf(team, "team.set_groups"))[1]).toMatchObject({
      actor_kind: "session",
      details: {
        groups: 2,
        added: [`planner: sales of ${company.url}`],
        removed: [`deployer: engineers of ${company.url}`],
      },
    });
    expect((await logOf(team, "member.join"))[0]).toEqual({
      actor_kind: "system",
      target_name: grace.email,
      details: { role: "deployer", groups: ["engineers", "staff"] },
    });
    expect((await logOf(team, "member.remove")).map(({ details }) => details)).toEqual([
      { role: "viewer", access_tokens: 0, groups_before: ["staff"] },
      { role: "planner", access_tokens: 0, groups_before: ["sales"] },
    ]);
  });

  test("are not replaced by someone who has read them before another change", async () => {
    const { admin, params } = await openTeam(plane);
    const add = async (group: string, { groups, version }: TeamGroups) =>
      admin.client.call("replaceTeamGroups", {
        params,
        body: {
          groups: [...groups, { issuer: "oidc", group, role: "viewer" }],
          ...(version === undefined ? {} : { version }),
        },
      });
    const read = await admin.client.call("listTeamGroups", { params });
    const stored = await add("engineers", read);
    await expect(add("leads", read)).rejects.toEqual(refusal("changed_meanwhile"));
    expect(await admin.client.call("listTeamGroups", { params })).toEqual(stored);
    expect((await add("leads", stored)).groups).toHaveLength(2);
    // A client that knows nothing of this.
    expect((await add("sales", { groups: [] })).groups).toHaveLength(1);
  });

  test("give roles in zones, beside those of an invitation", async () => {
    const team = await openTeam(plane);
    const { admin, params, calls } = team;
    const [staging, sandbox] = [
      await calls.call("createZone", { body: { name: "staging" } }),
      await calls.call("createZone", { body: { name: "sandbox" } }),
    ];
    const grace = await signIn("engineers", "staff");
    const give = (zones: Record<string, "planner" | "deployer">, group = "engineers") => ({
      issuer: company.url,
      group,
      role: null,
      zones,
    });
    const replace = (...groups: ReturnType<typeof give>[]) =>
      admin.client.call("replaceTeamGroups", { params, body: { groups } });
    const rolesOf = async () => {
      const { members } = await calls.call("listMembers", { params });
      return members.find(({ user_id }) => user_id === grace.id);
    };
    await replace(
      give({ [staging.id]: "planner", [sandbox.id]: "planner" }),
      give({ [sandbox.id]: "deployer" }, "staff"),
    );
    const both = { [staging.id]: "planner", [sandbox.id]: "deployer" };
    expect(await rolesOf()).toMatchObject({ role: null, zones: both, sources: ["group"] });
    const invitation = { params, body: { role: "viewer", zones: { [staging.id]: "deployer" } } };
    await acceptLink(
      plane,
      (await admin.client.call("createInvitation", invitation as never)).link,
      grace,
    );
    expect(await rolesOf()).toMatchObject({
      role: "viewer",
      zones: { [staging.id]: "deployer", [sandbox.id]: "deployer" },
    });
    await replace(give({ [staging.id]: "planner" }));
    expect(await rolesOf()).toMatchObject({ role: "viewer", zones: { [staging.id]: "deployer" } });
    await admin.client.call("removeMember", { params: { ...params, user_id: grace.id } });
    expect(await rolesOf()).toMatchObject({ role: null, zones: { [staging.id]: "planner" } });
    // With the zone, the roles in it end.
    await calls.call("deleteZone", { params: staging });
    expect(await rolesOf()).toMatchObject({ role: null, zones: {} });
    const { groups } = await admin.client.call("listTeamGroups", { params });
    expect(groups).toMatchObject([{ role: null, zones: {} }]);
    expect(await admin.client.refusal("replaceTeamGroups", { params, body: { groups } })).toBe(
      "400 invalid_request",
    );
  });

  test("are named by an address too, and keep one whose provider is gone", async () => {
    const team = await openTeam(plane);
    const { admin, params } = team;
    const groups = [{ issuer: `${company.url}/`, group: "a", role: "viewer" as const }];
    const stored = [{ ...groups[0]!, zones: {}, issuer: company.url }];
    const answer = await admin.client.call("replaceTeamGroups", { params, body: { groups } });
    expect(answer.groups).toEqual(stored);
    const { providers } = plane.context;
    Object.assign(plane.context, { providers: {} });
    try {
      expect(await admin.client.call("replaceTeamGroups", { params, body: answer })).toEqual(
        answer,
      );
    } finally {
      Object.assign(plane.context, { providers });
    }
  });

  test.each([
    ["an unknown provider", [{ issuer: "oidc_2", group: "a", role: "viewer" }]],
    ["an address of none", [{ issuer: "https://id.example.com", group: "a", role: "viewer" }]],
    ["a provider without groups", [{ issuer: "github", group: "a", role: "viewer" }]],
    ["a group twice", [1, 2].map(() => ({ issuer: "oidc", group: "a", role: "viewer" }))],
    ["no role", [{ issuer: "oidc", group: "a" }]],
    ["a control character", [{ issuer: "oidc", group: "a\n", role: "viewer" }]],
    ["a long name", [{ issuer: "oidc", group: "a".repeat(257), role: "viewer" }]],
    [
      "too many",
      Array.from({ length: 101 }, (_, n) => ({ issuer: "oidc", group: `${n}`, role: "viewer" })),
    ],
  ])("refuse %s", async (_, groups) => {
    const team = await openTeam(plane);
    const path = `/api/cli/teams/${team.slug}/groups`;
    const { headers } = team.admin;
    const refused = await ask(plane, "PUT", path, { headers, json: { groups } });
    expect(refused.status).toBe(400);
    const now = await team.admin.client.call("listTeamGroups", { params: team.params });
    expect(now.groups).toEqual([]);
  });

  test("are of at most so many teams", async () => {
    const group = randomUUID();
    const host = new URL(company.url).host;
    const { store } = plane.context;
    for (let count = 0; count < teamsPerGroupLimit; count += 1) {
      const id = randomUUID();
      await addRows(store, "spaces", { id });
      await addRows(store, "teams", { id, slug: `many-${count}`, name: "Many", created_at: 1 });
      const row = { space_id: id, host, name: group, issuer: company.url, created_at: count };
      await addRows(store, "team_groups", { ...row, role: "viewer", zones: "{}" });
    }
    const team = await openTeam(plane);
    await expect(admit(team, [group, "viewer"])).rejects.toEqual(refusal("quota_exceeded"));
    // Someone in two such groups is in as many teams as one person may be.
    const grace = await signIn(group, "more");
    await admit(team, ["more", "viewer"]);
    const memberships = await readRows(plane, "memberships", { user_id: grace.id });
    expect(memberships).toHaveLength(teamsByGroupsLimit);
    expect(await grace.memberOf(team)).toBeUndefined();
  });

  test("admit no one to a full team", async () => {
    const team = await openTeam(plane);
    const { id: space_id } = await readRow(plane, "teams", { slug: team.slug });
    const { store } = plane.context;
    for (let count = 1; count < membersLimit; count += 1) {
      const id = randomUUID();
      await addRows(store, "users", { id, email: `${id}@example.com`, created_at: 1 });
      const member = { space_id, user_id: id, role: "viewer", joined_at: 1 } as const;
      const none = {
        zones: "{}",
        invited_zones: "{}",
        group_role: null,
        group_zones: "{}",
        group_names: "[]",
      };
      await addRows(store, "memberships", {
        ...member,
        ...none,
        invited_by: id,
        invited_role: "viewer",
      });
    }
    const grace = await signIn("crowd");
    await admit(team, ["crowd", "admin"]);
    expect(await grace.memberOf(team)).toBeUndefined();
    const [member] = await readRows(plane, "memberships", { space_id, role: "viewer" });
    await team.admin.client.call("removeMember", {
      params: { ...team.params, user_id: member?.user_id ?? "" },
    });
    await grace.becomes("crowd");
    expect(await grace.memberOf(team)).toMatchObject({ role: "admin" });
  });
});

describe("a member by groups", () => {
  test("joins at the sign-in, and changes with the provider's next answer", async () => {
    const team = await openTeam(plane);
    await admit(team, ["engineers", "planner"], ["leads", "admin"]);
    const grace = await signIn("engineers");
    expect(await grace.memberOf(team)).toMatchObject({ role: "planner" });
    const { headers } = grace;
    const path = `/zones?team=${team.slug}`;
    expect((await ask(plane, "GET", path, { headers })).status).toBe(200);
    await grace.becomes("engineers", "leads");
    expect(await grace.memberOf(team)).toMatchObject({
      role: "admin",
      groups: ["engineers", "leads"],
    });
    await grace.becomes("staff");
    expect(await grace.memberOf(team)).toBeUndefined();
    expect((await ask(plane, "GET", path, { headers })).status).toBe(404);
  });

  test("loses access tokens and open invitations with the last group", async () => {
    const team = await openTeam(plane);
    await admit(team, ["leads", "admin"]);
    const grace = await signIn("leads");
    const calls = callsWithin(plane, grace.headers, team.slug);
    const { access_token } = await calls.call("createAccessToken", {
      body: { name: "ci", role: "viewer" },
    });
    await calls.call("createInvitation", { params: team.params, body: { role: "admin" } });
    const use = () => ask(plane, "GET", "/api/cli/zones", { headers: bearer(access_token) });
    expect((await use()).status).toBe(200);
    await grace.becomes();
    expect((await use()).status).toBe(401);
    const { invitations } = await team.admin.client.call("listInvitations", {
      params: team.params,
    });
    expect(invitations).toEqual([]);
    expect((await logOf(team, "member.remove"))[0]?.details).toEqual({
      role: "admin",
      access_tokens: 1,
      groups_before: ["leads"],
    });
  });

  test("has the higher role of invitation and groups, and stays with one of them", async () => {
    const team = await openTeam(plane);
    await admit(team, ["engineers", "deployer"]);
    const grace = await signIn("engineers");
    const { admin, params } = team;
    const { link } = await admin.client.call("createInvitation", {
      params,
      body: { role: "planner" },
    });
    await acceptLink(plane, link, grace);
    expect(await grace.memberOf(team)).toMatchObject({
      role: "deployer",
      sources: ["invited", "group"],
    });
    const member = { ...params, user_id: grace.id };
    await admin.client.call("updateMember", { params: member, body: { role: "admin" } });
    expect(await grace.memberOf(team)).toMatchObject({ role: "admin" });
    await admin.client.call("updateMember", { params: member, body: { role: "viewer" } });
    expect(await grace.memberOf(team)).toMatchObject({ role: "deployer" });
    await grace.becomes();
    expect(await grace.memberOf(team)).toMatchObject({ role: "viewer", sources: ["invited"] });
    await grace.becomes("engineers");
    await admin.client.call("removeMember", { params: member });
    expect(await grace.memberOf(team)).toMatchObject({ role: "deployer", sources: ["group"] });
    const byGroup = refusal("member_by_group");
    await expect(admin.client.call("removeMember", { params: member })).rejects.toEqual(byGroup);
    await expect(
      admin.client.call("updateMember", { params: member, body: { role: "admin" } }),
    ).rejects.toEqual(byGroup);
    const own = callsWithin(plane, grace.headers, team.slug);
    await expect(own.call("removeMember", { params: member })).rejects.toEqual(byGroup);
  });

  test("may be the last admin only until the group goes", async () => {
    const team = await openTeam(plane);
    await admit(team, ["leads", "admin"]);
    const grace = await signIn("leads");
    const { admin, params, slug } = team;
    const creator = { ...params, user_id: admin.id };
    await admin.client.call("removeMember", { params: creator });
    const calls = callsWithin(plane, grace.headers, slug);
    const last = refusal("last_admin");
    await expect(calls.call("replaceTeamGroups", { params, body: { groups: [] } })).rejects.toEqual(
      last,
    );
    expect((await calls.call("listTeamGroups", { params })).groups).toHaveLength(1);
    await grace.becomes();
    const { id: space_id } = await readRow(plane, "teams", { slug });
    expect(await readRows(plane, "memberships", { space_id })).toEqual([]);
  });

  test("does not count as an invitation that permits the sign-in", async () => {
    const team = await openTeam(plane);
    await admit(team, ["engineers", "deployer"]);
    const grace = await signIn("engineers");
    allow("oidc:group/leads");
    expect(await staysIn(grace.headers)).toBe(false);
  });

  test("is none when the provider leaves the groups out", async () => {
    const team = await openTeam(plane);
    await admit(team, ["engineers", "deployer"]);
    const grace = await signIn("engineers");
    company.people.set(grace.subject, { email: grace.email, _claim_names: { groups: "src1" } });
    await wait(grace.subject, 16 * minute);
    await staysIn(grace.headers);
    expect(await grace.memberOf(team)).toBeUndefined();
  });
});

describe("without sign-ins", () => {
  test("someone with an access token is asked for daily", async () => {
    const team = await openTeam(plane);
    await admit(team, ["engineers", "deployer"]);
    const [grace, idle] = [await signIn("engineers"), await signIn("engineers")];
    for (const one of [grace, idle]) await ask(plane, "POST", "/logout", { headers: one.headers });
    await setRows(plane, "logins", { revoked_at: 1 }, { user_id: idle.id });
    const again = await enterAs(grace);
    const calls = callsWithin(plane, again, team.slug);
    await calls.call("createAccessToken", { body: { name: randomUUID(), role: "viewer" } });
    await setRows(plane, "logins", { revoked_at: 1 }, { user_id: grace.id });
    await pruneExpired(plane.context);
    const kept = async (subject: string) =>
      (await readRows(plane, "provider_sessions", { subject })).length;
    expect([await kept(grace.subject), await kept(idle.subject)]).toEqual([1, 0]);
    const { signal } = new AbortController();
    const before = company.asked;
    await wait(grace.subject, 23 * hour);
    await askForTokenHolders(plane.context, signal);
    expect(company.asked).toBe(before);
    company.isDown = true;
    await wait(grace.subject, 25 * hour);
    await askForTokenHolders(plane.context, signal);
    expect(company.asked).toBe(before + 1);
    expect(await grace.memberOf(team)).toMatchObject({ role: "deployer" });
    company.isDown = false;
    company.people.set(grace.subject, { email: grace.email, groups: ["staff"] });
    await wait(grace.subject, 25 * hour);
    await askForTokenHolders(plane.context, signal);
    expect(await grace.memberOf(team)).toBeUndefined();
    // Without the membership there is nothing to ask for.
    await pruneExpired(plane.context);
    expect(await kept(grace.subject)).toBe(0);
  });

  test("groups count for thirty days after the provider refused to answer", async () => {
    const team = await openTeam(plane);
    await admit(team, ["engineers", "deployer"]);
    const grace = await signIn("engineers");
    const calls = callsWithin(plane, grace.headers, team.slug);
    await calls.call("createAccessToken", { body: { name: randomUUID(), role: "viewer" } });
    company.people.delete(grace.subject);
    await wait(grace.subject, 25 * hour);
    const { signal } = new AbortController();
    await askForTokenHolders(plane.context, signal);
    expect(await grace.memberOf(team)).toMatchObject({ role: "deployer" });
    const [session] = await readRows(plane, "provider_sessions", { subject: grace.subject });
    expect(session?.refresh_token).toBeNull();
    const old = { groups_at: plane.context.now() - 29 * day };
    await setRows(plane, "accounts", old, { subject: grace.subject });
    await forgetOldGroups(plane.context, signal);
    expect(await grace.memberOf(team)).toMatchObject({ role: "deployer" });
    const older = { groups_at: plane.context.now() - 31 * day };
    await setRows(plane, "accounts", older, { subject: grace.subject });
    await forgetOldGroups(plane.context, signal);
    expect(await grace.memberOf(team)).toBeUndefined();
  });

  /** Signs the same person in again. */
  async function enterAs({ subject }: { readonly subject: string }) {
    company.subject = subject;
    return (await enter()).headers;
  }
});
