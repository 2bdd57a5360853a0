import { describe, expect } from "vitest";
import { teamHeader } from "../../../../protocol/limits.ts";
import { send } from "../../../../protocol/transport.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { bearer } from "../../../helpers/people/sign-in.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  acceptLink,
  addMember,
  addTeam,
  callsWithin,
  newSlug,
} from "../../../helpers/people/teams.ts";
import { setRows } from "../../../helpers/plane/plane.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

const { plane, it } = planeForFile();

describe("a team", () => {
  it("is created, listed, shown, renamed and deleted", async () => {
    const user = await addTestUser(plane);
    const { client } = user;
    const made = await client.call("createTeam", { body: { name: "Plätform & Data" } });
    expect(made).toMatchObject({ slug: "platform-data", name: "Plätform & Data", role: "admin" });
    const params = { slug: made.slug };
    expect(await client.call("getTeam", { params })).toEqual(made);
    expect((await client.call("listTeams")).teams).toEqual([made]);
    const body = { name: "Data", slug: newSlug() };
    const renamed = await client.call("updateTeam", { params, body });
    expect(renamed).toEqual({ ...made, ...body });
    expect(await client.refusal("getTeam", { params })).toBe("404 team_not_found");
    const other = await addTestUser(plane);
    expect(await other.client.refusal("createTeam", { body })).toBe("409 name_taken");
    expect(await other.client.refusal("getTeam", { params: { slug: body.slug } })).toBe(
      "404 team_not_found",
    );
    await client.call("deleteTeam", { params: { slug: body.slug } });
    expect((await client.call("listTeams")).teams).toEqual([]);
    await other.client.call("createTeam", { body });
  });

  it("has its own zones, which its members find by id in every space", async () => {
    const user = await addTestUser(plane);
    const { client, owner } = user;
    const { slug, params, calls } = await addTeam(plane, user);
    const zone = await calls.call("createZone", { body: { name: "shared" } });
    expect((await calls.call("listZones")).zones).toEqual([zone]);
    expect((await client.call("listZones")).zones.map(({ id }) => id)).toEqual([owner.zone]);
    expect(await client.call("getZone", { params: zone })).toEqual(zone);
    const viewer = await addMember(plane, user, slug, "viewer");
    expect(await viewer.client.call("getZone", { params: zone })).toEqual(zone);
    expect(await viewer.client.refusal("deleteZone", { params: zone })).toBe(
      "403 permission_denied",
    );
    expect(await viewer.calls.refusal("createZone", { body: { name: "x" } })).toBe(
      "403 permission_denied",
    );
    const other = await addTestUser(plane);
    expect(await other.client.refusal("getZone", { params: zone })).toBe("404 not_found");
    const asked = callsOf(plane, { ...other.headers, [teamHeader]: slug });
    expect(await asked.refusal("listZones")).toBe("404 team_not_found");
    expect(await client.refusal("deleteTeam", { params })).toBe("409 team_not_empty");
    await client.call("deleteZone", { params: zone });
    await client.call("deleteTeam", { params });
  });

  it("has what is created below its zones, and its workers run it", async () => {
    const user = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, user);
    const zone = await calls.call("createZone", { body: { name: "shared" } });
    const source = { type: "inline", files: { "main.tf": "" } } as const;
    const body = { name: "network", zone_id: zone.id, source };
    const viewer = await addMember(plane, user, slug, "viewer");
    const planner = await addMember(plane, user, slug, "planner");
    const deployer = await addMember(plane, user, slug, "deployer");
    expect(await viewer.client.refusal("createConfiguration", { body })).toBe(
      "403 permission_denied",
    );
    const { id } = await deployer.client.call("createConfiguration", { body });
    const plan = { job_type: "PLAN", configuration_id: id } as const;
    expect(await viewer.client.refusal("createJob", { body: plan })).toBe("403 permission_denied");
    const job = await planner.client.call("createJob", { body: plan });
    const deploy = { job_type: "DEPLOY", configuration_id: id } as const;
    expect(await planner.client.refusal("createJob", { body: deploy })).toBe(
      "403 permission_denied",
    );
    expect((await calls.call("listJobs")).jobs.map((one) => one.id)).toEqual([job.id]);
    for (const { client } of [planner, user])
      expect((await client.call("listJobs")).jobs).toEqual([]);
    // A worker of a member is not one of the team.
    expect((await planner.runner.ask("claimJob"))?.job).toBeUndefined();
    const worker = await calls.call("createWorker", { body: { name: "team" } });
    const runner = callsOf(plane, {
      "x-worker-id": worker.worker_id,
      "x-worker-token": worker.worker_token,
    });
    expect((await runner.call("claimJob")).job.id).toBe(job.id);
  });

  it("has an audit log that names the actor", async () => {
    const user = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, user);
    const deployer = await addMember(plane, user, slug, "deployer");
    await deployer.calls.call("createZone", { body: { name: "shared" } });
    const { audit_entries } = await calls.call("listAuditEntries");
    expect(audit_entries.map(({ action, actor }) => [action, actor.name])).toEqual([
      ["zone.create", `${deployer.owner.id}@example.com`],
      ["member.join", `${deployer.owner.id}@example.com`],
      ["invitation.create", `${user.owner.id}@example.com`],
      ["team.create", `${user.owner.id}@example.com`],
    ]);
  });
});

describe("members", () => {
  it("are listed, get another role, and are removed", async () => {
    const user = await addTestUser(plane);
    const { client } = user;
    const { slug, params } = await addTeam(plane, user);
    const viewer = await addMember(plane, user, slug, "viewer");
    const { members } = await client.call("listMembers", { params });
    expect(members.map(({ user_id, role }) => [user_id, role])).toEqual([
      [viewer.owner.id, "viewer"],
      [user.owner.id, "admin"],
    ]);
    const one = { slug, user_id: viewer.owner.id };
    expect(
      await viewer.client.refusal("updateMember", { params: one, body: { role: "admin" } }),
    ).toBe("403 permission_denied");
    await client.call("updateMember", { params: one, body: { role: "deployer" } });
    await viewer.calls.call("createZone", { body: { name: "now allowed" } });
    await client.call("removeMember", { params: one });
    expect(await viewer.calls.refusal("listZones")).toBe("404 team_not_found");
    expect(await client.refusal("removeMember", { params: one })).toBe("404 not_found");
  });

  it("lose at once what they have open, and what an admin has kept", async () => {
    const user = await addTestUser(plane);
    const { slug, params } = await addTeam(plane, user);
    const member = await addMember(plane, user, slug, "admin");
    const zone = await member.calls.call("createZone", { body: { name: "shared" } });
    const spec = await member.client.call("createConfiguration", {
      body: { name: "n", zone_id: zone.id, source: { type: "inline", files: { "main.tf": "" } } },
    });
    const job = await member.client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec.id },
    });
    await member.client.call("createInvitation", { params, body: { role: "admin" } });
    await member.calls.call("createRegistrationToken", { body: {} });
    const stream = await send(
      plane.url,
      "streamJobLogs",
      { params: { id: job.id } },
      { headers: member.headers },
    );
    const ended = stream.body.text().then(
      () => "ended",
      () => "cut",
    );
    const { zones } = await member.client.call("listZones");
    await user.client.call("removeMember", { params: { slug, user_id: member.owner.id } });
    expect(await ended).toBe("cut");
    expect(await member.client.refusal("getZone", { params: zone })).toBe("404 not_found");
    expect((await user.client.call("listInvitations", { params })).invitations).toEqual([]);
    const within = callsWithin(plane, user.headers, slug);
    const { registration_tokens } = await within.call("listRegistrationTokens");
    expect(registration_tokens).toEqual([]);
    // The member's own space is as it was, and the team keeps the jobs.
    expect((await member.client.call("listZones")).zones).toEqual(zones);
    expect((await within.call("listJobs")).jobs).toHaveLength(1);
  });

  it("lose what they have open in a zone with their role there, and keep the rest", async () => {
    const user = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, user);
    const newJob = async (name: string) => {
      const zone = await calls.call("createZone", { body: { name } });
      const source = { type: "inline", files: { "main.tf": "" } } as const;
      const spec = await calls.call("createConfiguration", {
        body: { name, zone_id: zone.id, source },
      });
      const job = { job_type: "PLAN", configuration_id: spec.id } as const;
      return { zone: zone.id, ...(await calls.call("createJob", { body: job })) };
    };
    const [left, kept] = [await newJob("left"), await newJob("kept")];
    const zones = { [left.zone]: "deployer", [kept.zone]: "deployer" } as const;
    const member = await addMember(plane, user, slug, { role: null, zones });
    const open = async ({ id }: { readonly id: string }) => {
      const { headers } = member;
      const stream = await send(plane.url, "streamJobLogs", { params: { id } }, { headers });
      return { ended: stream.body.text().then(String, () => "cut") };
    };
    const streams = [await open(left), await open(kept)];
    const params = { slug, user_id: member.owner.id };
    await user.client.call("updateMember", { params, body: { zones: { [kept.zone]: "viewer" } } });
    // Both had more than is left: the other one is opened again.
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(["cut", "cut"]);
    expect(await member.client.refusal("getJob", { params: left })).toBe("404 not_found");
    expect((await member.client.call("getJob", { params: kept })).id).toBe(kept.id);
    expect(await member.client.refusal("cancelJob", { params: kept })).toBe(
      "403 permission_denied",
    );
    const { members } = await calls.call("listMembers", { params });
    const row = members.find(({ user_id }) => user_id === member.owner.id);
    expect(row).toMatchObject({ role: null, zones: { [kept.zone]: "viewer" } });
    // A stream that was opened with more ends with that, beside one that was opened before.
    const first = await open(kept);
    await user.client.call("updateMember", { params, body: { zones } });
    const second = await open(left);
    await user.client.call("updateMember", { params, body: { zones: { [kept.zone]: "viewer" } } });
    expect(await second.ended).toBe("cut");
    await user.client.call("cancelJob", { params: kept });
    expect(await first.ended).not.toBe("cut");
    const none = { params, body: { zones: {} } };
    expect(await user.client.refusal("updateMember", none)).toBe("400 invalid_request");
    const unknown = { params, body: { zones: { [left.id]: "viewer" } } } as const;
    expect(await user.client.refusal("updateMember", unknown)).toBe("404 not_found");
  });

  it("may leave, but the last admin can neither leave nor become less", async () => {
    const user = await addTestUser(plane);
    const { client, owner } = user;
    const { slug } = await addTeam(plane, user);
    const own = { slug, user_id: owner.id };
    expect(await client.refusal("removeMember", { params: own })).toBe("409 last_admin");
    expect(await client.refusal("updateMember", { params: own, body: { role: "viewer" } })).toBe(
      "409 last_admin",
    );
    const second = await addMember(plane, user, slug, "admin");
    await setRows(plane, "users", { blocked_at: 1 }, { id: second.owner.id });
    expect(await client.refusal("removeMember", { params: own })).toBe("409 last_admin");
    await setRows(plane, "users", { blocked_at: null }, { id: second.owner.id });
    await client.call("removeMember", { params: own });
    const its = { slug, user_id: second.owner.id };
    expect(await second.client.refusal("removeMember", { params: its })).toBe("409 last_admin");
  });
});

describe("an access token of a team", () => {
  it("acts in the team with at most the role of its creator, and ends with the membership", async () => {
    const user = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, user);
    const deployer = await addMember(plane, user, slug, "deployer");
    const own = { name: "mine", role: "viewer" } as const;
    const ofAdmin = await calls.call("createAccessToken", { body: { ...own, name: "admin's" } });
    const token = await deployer.calls.call("createAccessToken", {
      body: { name: "ci", role: "deployer" },
    });
    const headers = bearer(token.access_token);
    const pipeline = callsOf(plane, headers);
    await pipeline.call("createZone", { body: { name: "by the pipeline" } });
    expect((await pipeline.call("listTeams")).teams).toMatchObject([{ slug, role: "deployer" }]);
    expect(await callsWithin(plane, headers, "other").refusal("listZones")).toBe(
      "404 team_not_found",
    );
    expect(
      await pipeline.refusal("removeMember", { params: { slug, user_id: user.owner.id } }),
    ).toBe("403 permission_denied");
    // A member sees and revokes their own tokens, an admin all.
    const { access_tokens: seen } = await deployer.calls.call("listAccessTokens");
    expect(seen.map(({ name }) => name)).toEqual(["ci"]);
    expect(await deployer.client.refusal("revokeAccessToken", { params: ofAdmin })).toBe(
      "403 permission_denied",
    );
    expect((await calls.call("listAccessTokens")).access_tokens).toHaveLength(2);
    const params = { slug, user_id: deployer.owner.id };
    await user.client.call("updateMember", { params, body: { role: "viewer" } });
    expect(await pipeline.refusal("createZone", { body: { name: "x" } })).toBe(
      "403 permission_denied",
    );
    await pipeline.call("listZones");
    await user.client.call("removeMember", { params });
    expect(await pipeline.refusal("listZones")).toBe("401 unauthenticated");
  });
});

describe("an invitation", () => {
  it("is listed while it is open, and revoked", async () => {
    const user = await addTestUser(plane);
    const { client } = user;
    const { params } = await addTeam(plane, user);
    const body = { role: "planner", email: "Ada@Example.com" } as const;
    const { link, ...made } = await client.call("createInvitation", { params, body });
    expect(link).toMatch(/\/invitations\/wli_[\w-]{43}$/);
    expect(made).toMatchObject({ role: "planner", email: "ada@example.com" });
    expect((await client.call("listInvitations", { params })).invitations).toEqual([made]);
    const one = { ...params, id: made.id };
    await client.call("revokeInvitation", { params: one });
    expect(await client.refusal("revokeInvitation", { params: one })).toBe("404 not_found");
    expect((await client.call("listInvitations", { params })).invitations).toEqual([]);
  });

  it("leaves no other one for an address that has joined, or was removed", async () => {
    const user = await addTestUser(plane);
    const { params, slug } = await addTeam(plane, user);
    const grace = await addTestUser(plane);
    const invite = () =>
      user.client.call("createInvitation", {
        params,
        body: { role: "viewer", email: `${grace.owner.id}@example.com` },
      });
    const open = async () => (await user.client.call("listInvitations", { params })).invitations;
    await invite();
    const { link } = await invite();
    const { id: unnamed } = await user.client.call("createInvitation", {
      params,
      body: { role: "viewer" },
    });
    await acceptLink(plane, link, grace);
    expect((await open()).map(({ id }) => id)).toEqual([unnamed]);
    await invite();
    const member = { ...params, user_id: grace.owner.id };
    await user.client.call("removeMember", { params: member });
    expect((await open()).map(({ id }) => id)).toEqual([unnamed]);
    expect(await grace.client.refusal("getTeam", { params: { slug } })).toBe("404 team_not_found");
  });
});
