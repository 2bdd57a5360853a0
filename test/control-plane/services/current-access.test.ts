/** Requests that were admitted before their caller lost the right to what they do. */
import { describe, expect } from "vitest";
import { teamHeader } from "../../../protocol/limits.ts";
import { callsOf } from "../../helpers/plane/calls.ts";
import { ask, clientHeaders } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { bearer } from "../../helpers/people/sign-in.ts";
import { dump } from "../../helpers/store/store-dump.ts";
import { addMember, addTeam, addTeamSpec } from "../../helpers/people/teams.ts";
import { addTestUser } from "../../helpers/people/user.ts";

const { plane, it } = planeForFile();

async function newTeam() {
  const admin = await addTestUser(plane);
  const { slug, calls } = await addTeam(plane, admin);
  const member = await addMember(plane, admin, slug, "admin");
  const { spec } = await addTeamSpec(plane, slug);
  // The first job of a server stores the key of the configurations' hashes.
  await calls.call("createJob", { body: { job_type: "PLAN", configuration_id: spec } });
  const requests: [path: string, body: object][] = [
    ["/api/cli/zones", { name: "late" }],
    ["/api/jobs", { job_type: "DEPLOY", configuration_id: spec }],
    ["/api/cli/registration-tokens", {}],
    ["/api/cli/access-tokens", { name: "late", role: "admin" }],
    ["/api/workers/register", { name: "late" }],
    [`/api/cli/teams/${slug}/invitations`, { role: "admin" }],
  ];
  const params = { slug, user_id: member.owner.id };
  return { admin, calls, member, slug, requests, params };
}

/**
 * Sends the head of each request with the first byte of its body, then waits for what happens
 * meanwhile, and sends the rest. Returns the outcomes.
 */
async function whileSending(
  headers: Record<string, string>,
  requests: readonly (readonly [path: string, body: object])[],
  meanwhile: () => Promise<unknown>,
): Promise<string[]> {
  let happen: () => void = () => undefined;
  const happened = new Promise<void>((resolve) => (happen = resolve));
  async function* slowly(text: string) {
    yield Buffer.from(text.slice(0, 1));
    await happened;
    yield Buffer.from(text.slice(1));
  }
  const sent = requests.map(async ([path, body]) => {
    const all = { ...headers, "content-type": "application/json" };
    const answer = await ask(plane, "POST", path, {
      headers: all,
      body: slowly(JSON.stringify(body)),
    });
    return `${answer.status} ${answer.json().code}`;
  });
  // Meanwhile the guards admit the requests.
  for (let n = 0; n < 20; n += 1) await ask(plane, "GET", "/healthz");
  await meanwhile();
  happen();
  return Promise.all(sent);
}

describe("a request that was admitted", () => {
  it("changes nothing after the removal of its member", async () => {
    const { admin, member, slug, requests, params } = await newTeam();
    let before: string[] = [];
    const outcomes = await whileSending(
      { ...member.headers, [teamHeader]: slug },
      requests,
      async () => {
        await admin.client.call("removeMember", { params });
        before = await dump(plane);
      },
    );
    expect(outcomes).toEqual(requests.map(() => "404 team_not_found"));
    expect(await dump(plane)).toEqual(before);
  });

  it("changes nothing after its member has lost the role", async () => {
    const { admin, member, slug, requests, params } = await newTeam();
    const outcomes = await whileSending({ ...member.headers, [teamHeader]: slug }, requests, () =>
      admin.client.call("updateMember", { params, body: { role: "viewer" } }),
    );
    expect(outcomes).toEqual(requests.map(() => "403 permission_denied"));
  });

  it("changes nothing after its login was ended by another one, also in the personal space", async () => {
    const { owner, headers, client } = await addTestUser(plane);
    const other = callsOf(plane, await clientHeaders(plane, owner));
    const requests = [
      ["/api/cli/zones", { name: "late" }],
      ["/api/cli/access-tokens", { name: "late", role: "admin" }],
    ] as const;
    const { logins } = await client.call("listLogins");
    const id = logins.find(({ current }) => current)?.id ?? "";
    const outcomes = await whileSending(headers, requests, () =>
      other.call("revokeLogin", { params: { id } }),
    );
    expect(outcomes).toEqual(requests.map(() => "401 unauthenticated"));
  });

  it("changes nothing after the revocation of its access token", async () => {
    const { calls, requests } = await newTeam();
    const token = await calls.call("createAccessToken", { body: { name: "ci", role: "admin" } });
    const some = requests.slice(0, 3);
    const outcomes = await whileSending(bearer(token.access_token), some, () =>
      calls.call("revokeAccessToken", { params: token }),
    );
    expect(outcomes).toEqual(some.map(() => "401 unauthenticated"));
  });
});
