/** Approvals before a merge, and what becomes of them after it, with a stand-in of Forgejo. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { ApprovalRule } from "../../../../protocol/approvals.ts";
import type { PlanSummary } from "../../../../protocol/plan-summary.ts";
import { startForgejo } from "../../../helpers/hosts/forgejo.ts";
import { follow } from "../../../helpers/hosts/followed.ts";
import { readRows, setRows } from "../../../helpers/plane/plane.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addRows, type Owner } from "../../../helpers/plane/rows.ts";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { bearer } from "../../../helpers/people/sign-in.ts";
import { addMember, addTeam, addTeamSpec } from "../../../helpers/people/teams.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({ full: ["write:repository", "write:issue"] });
});
afterAll(() => host[Symbol.asyncDispose]());

const { it: base, plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });
const able = JSON.stringify(["merge", "plan_digest", "source_access"]);
const it = base.extend("team", async () => {
  const admin = await addTestUser(plane);
  const team = await addTeam(plane, admin);
  const { space, worker, runner } = await addTeamSpec(plane, team.slug);
  await setRows(plane, "workers", { features: able }, { id: worker.id });
  const join = (role: "deployer" | "planner") => addMember(plane, admin, team.slug, role);
  return { ...team, space, runner, join };
});

const plan = {
  ...emptySummary,
  counts: { ...emptySummary.counts, create: 1 },
  changes: [{ address: "aws_vpc.main", action: "create" }],
  digest: "d".repeat(64),
  source_digest: "5".repeat(64),
  has_unknown: true,
  has_provisioners: false,
} satisfies PlanSummary;
const { digest: _, ...undigested } = plan;
const fixed = { ...plan, has_unknown: false };

/** A configuration that deploys what is pushed, with a planned pull request. */
async function request(
  client: Calls,
  space: Owner,
  approval: Partial<ApprovalRule> | null,
  { values = {}, summary = plan }: { values?: object; summary?: PlanSummary } = {},
) {
  const followed = await follow(plane, host, client, space);
  const { repository, look, configure, jobs, open, planned, push } = followed;
  const rule = approval && { when: "always" as const, ...approval };
  const id = await configure("network", { approval: rule, variables: values }, { push: "deploy" });
  await look();
  const pull = open(1, ["network/main.tf"]);
  await look();
  const [reviewed] = await jobs(id);
  await planned(reviewed!.id, summary);
  return {
    ...followed,
    id,
    pull,
    reviewed: reviewed!.id,
    /** Merges it, lets the merged commit be planned, and returns the queued DEPLOY. */
    merged: async (after: PlanSummary) => {
      const before = repository.branches.get("main")!;
      const commit = push(["network/main.tf"]);
      expect(before).not.toBe(commit);
      Object.assign(pull, { state: "closed", merge: commit });
      await look();
      const merge = (await jobs(id)).at(-1)!;
      expect(merge.change).toMatchObject({ commit, pull_request: { number: 1 } });
      await planned(merge.id, after);
      await look();
      const deploy = (await jobs(id)).at(-1)!;
      expect(deploy).toMatchObject({ job_type: "DEPLOY", plan_job_id: merge.id });
      return client.call("getJob", { params: { id: deploy.id } });
    },
  };
}

const decide = (calls: Calls, id: string, decision: "approve" | "reject" = "approve") =>
  calls.call("decideJob", { params: { id }, body: { decision } });

const another = "it is another plan";
const otherCode = "the code is another one, and the plan has unknown values or provisioners";
interface Options {
  /** The plan of the pull request, and that after the merge. */
  readonly summary?: PlanSummary;
  readonly after?: PlanSummary;
  readonly values?: object;
  /** What is changed in the configuration between the two. */
  readonly change?: object;
  readonly reject?: boolean;
}

describe("after a merge, the approvals of the pull request's plan", () => {
  it.for<[what: string, refused: string | null, options: Options]>([
    ["of an equal plan of equal code", null, {}],
    ["of another plan", another, { after: { ...plan, digest: "e".repeat(64) } }],
    ["of plans without a digest", another, { summary: undigested, after: undigested }],
    [
      "of an equal plan with unknown values, of other code",
      otherCode,
      { after: { ...plan, source_digest: "6".repeat(64) } },
    ],
    [
      "of an equal plan with provisioners, of other code",
      otherCode,
      {
        summary: fixed,
        after: { ...fixed, has_provisioners: true, source_digest: "6".repeat(64) },
      },
    ],
    [
      "of an equal plan without unknown values, of other code",
      null,
      { summary: fixed, after: { ...fixed, source_digest: "6".repeat(64) } },
    ],
    [
      "with other settings",
      "the settings of the configuration were changed between the two plans",
      { change: { variables: { size: { value: 2 } } } },
    ],
    [
      "with withheld values",
      "values were withheld from the plan of the pull request",
      { values: { password: { value: "x", sensitive: true } } },
    ],
    ["that someone rejected", "the plan of the pull request was rejected", { reject: true }],
  ])("%s", async ([, refused, { after, summary, values, change, reject }], { team }) => {
    const options = { ...(summary ? { summary } : {}), ...(values ? { values } : {}) };
    const { id, reviewed, merged } = await request(team.calls, team.space, {}, options);
    const approver = await team.join("deployer");
    const voted = await decide(approver.calls, reviewed);
    expect(voted).toMatchObject({ status: "SUCCESS", approval_need: { missing: 0 } });
    if (reject) await decide(team.calls, reviewed, "reject");
    if (change)
      await team.calls.call("updateConfiguration", { params: { name: id }, body: change });
    const deploy = await merged(after ?? plan);
    expect(deploy).toMatchObject({
      approval_need: { missing: refused === null ? 0 : 1 },
      reviewed_plan: {
        job_id: reviewed,
        equal: refused !== another,
        approvals_refused: refused,
      },
    });
    expect(deploy.approvals).toEqual(refused === null ? voted.approvals : []);
    expect((await team.runner.ask("claimJob"))?.job.id).toBe(
      refused === null ? deploy.id : undefined,
    );
    if (refused === null) return;
    await decide(approver.calls, deploy.id);
    expect((await team.runner.ask("claimJob"))?.job.id).toBe(deploy.id);
  });

  it("are void once there is a new commit, and their plan takes no more", async ({ team }) => {
    const { id, pull, reviewed, look, jobs, planned, merged } = await request(
      team.calls,
      team.space,
      {},
    );
    const approver = await team.join("deployer");
    await decide(approver.calls, reviewed);
    pull.sha = "e".repeat(40);
    await look();
    const body = { decision: "approve" } as const;
    const old = { params: { id: reviewed }, body };
    expect(await approver.calls.refusal("decideJob", old)).toBe("409 plan_is_stale");
    const newer = (await jobs(id)).at(-1)!;
    await planned(newer.id, plan);
    const deploy = await merged(plan);
    expect(deploy).toMatchObject({
      approvals: [],
      approval_need: { missing: 1 },
      reviewed_plan: { job_id: newer.id, equal: true, approvals_refused: null },
    });
    const closed = { params: { id: newer.id }, body };
    expect(await approver.calls.refusal("decideJob", closed)).toBe("409 plan_is_stale");
  });

  it("count only while the role of the person permits it", async ({ team }) => {
    const { reviewed, merged } = await request(team.calls, team.space, {});
    const approver = await team.join("deployer");
    await decide(approver.calls, reviewed);
    const deploy = await merged(plan);
    await team.calls.call("updateMember", {
      params: { slug: team.slug, user_id: approver.id },
      body: { role: "planner" },
    });
    const job = await team.calls.call("getJob", { params: { id: deploy.id } });
    expect(job.approval_need).toMatchObject({ missing: 1 });
    expect(await team.runner.ask("claimJob")).toBeNull();
  });
});

describe("without an approval rule", () => {
  it("a deployment of another plan than the reviewed one needs one approval", async ({
    client,
    owner,
    runner,
    worker,
  }) => {
    await setRows(plane, "workers", { features: able }, { id: worker.id });
    const { merged, reviewed } = await request(client, owner, null);
    const body = { decision: "approve" } as const;
    expect(await client.refusal("decideJob", { params: { id: reviewed }, body })).toBe(
      "409 approval_not_needed",
    );
    const changes = [
      { address: "aws_vpc.main", action: "replace" as const },
      { address: "aws_subnet.a", action: "create" as const },
    ];
    const deploy = await merged({ ...plan, digest: "e".repeat(64), changes });
    expect(deploy).toMatchObject({
      waiting_reason: "waits for 1 approval by a deployer",
      approval_need: { missing: 1, rule: { when: "always", count: 1, by_author: true } },
      reviewed_plan: {
        equal: false,
        differences: [
          { address: "aws_vpc.main", reviewed: "create", merged: "replace" },
          { address: "aws_subnet.a", reviewed: null, merged: "create" },
        ],
        differences_omitted: 0,
      },
    });
    expect(await runner.ask("claimJob")).toBeNull();
    await decide(client, deploy.id);
    expect((await runner.call("claimJob")).job.id).toBe(deploy.id);
  });

  it("a deployment of the reviewed plan, or of a push without one, needs none", async ({
    client,
    owner,
    runner,
    worker,
  }) => {
    await setRows(plane, "workers", { features: able }, { id: worker.id });
    const { id, merged, push, look, jobs, planned } = await request(client, owner, null);
    const deploy = await merged(plan);
    expect(deploy).toMatchObject({ approval_need: null, reviewed_plan: { equal: true } });
    await client.call("cancelJob", { params: deploy });
    push(["network/main.tf"]);
    await look();
    await planned((await jobs(id)).at(-1)!.id, plan);
    await look();
    const pushed = (await jobs(id)).at(-1)!;
    expect(pushed).toMatchObject({ job_type: "DEPLOY", approval_need: null });
    expect((await runner.call("claimJob")).job.id).toBe(pushed.id);
  });
});

describe("a plan of a pull request", () => {
  it("is not approved by those who opened the request or pushed its head, if they are known", async ({
    team,
  }) => {
    const { connection, reviewed, merged } = await request(team.calls, team.space, {});
    const opener = await team.join("deployer");
    const pusher = await team.join("deployer");
    const other = await team.join("deployer");
    const [row] = await readRows(plane, "pull_requests", { connection_id: connection });
    await setRows(plane, "pull_requests", { pusher_id: "4711" }, { id: row!.id });
    const host = { host: "github.com", provider: "github" as const };
    for (const [user, subject] of [
      [opener, row!.author_id],
      [pusher, "4711"],
    ] as const)
      await addRows(plane.context.store, "accounts", {
        ...host,
        subject,
        user_id: user.id,
        email: user.email,
        access_token: "",
        refresh_token: null,
        token_expires_at: null,
        created_at: 1,
        signed_in_at: 1,
      });
    const known = { kind: "github_app", base_url: "https://github.com" } as const;
    const [before] = await readRows(plane, "connections", { id: connection });
    // An account of another host says nothing.
    const params = { id: reviewed };
    const job = await team.calls.call("getJob", { params });
    expect(job.approval_need?.authors).toEqual([]);
    await setRows(plane, "connections", known, { id: connection });
    const body = { decision: "approve" } as const;
    for (const { calls } of [opener, pusher])
      expect(await calls.refusal("decideJob", { params, body })).toBe("403 approver_is_author");
    const { authors, approvers } = (await team.calls.call("getJob", { params })).approval_need!;
    expect(authors.toSorted()).toEqual([opener.email, pusher.email].toSorted());
    expect(approvers).not.toContain(opener.email);
    await decide(other.calls, reviewed);
    const { kind, base_url } = before!;
    await setRows(plane, "connections", { kind, base_url }, { id: connection });
    const deploy = await merged({ ...plan, digest: "e".repeat(64) });
    await setRows(plane, "connections", known, { id: connection });
    expect(await opener.calls.refusal("decideJob", { params: { id: deploy.id }, body })).toBe(
      "403 approver_is_author",
    );
  });

  it("knows who pushed its head from an event, before or after it is seen", async ({
    client,
    owner,
  }) => {
    const { connection, repository, configure, look, open } = await follow(
      plane,
      host,
      client,
      owner,
    );
    await configure("network");
    const event = { connection_id: connection, received_at: Date.now() };
    const [first, second] = [open(1, ["network/a.tf"]), open(2, ["network/a.tf"])];
    await addRows(plane.context.store, "connection_events", {
      ...event,
      delivery_id: "1",
      commit_id: first.sha,
      account_id: "4711",
    });
    await look();
    const { webhook_secret } = await client.call("rotateConnectionSecret", {
      params: { id: connection },
      body: { overlap_seconds: 0 },
    });
    await setRows(plane, "connections", { kind: "github" }, { id: connection });
    const told = { after: second.sha, sender: { id: 4712 }, repository: { id: repository.id } };
    const body = JSON.stringify(told);
    const signature = createHmac("sha256", webhook_secret).update(body).digest("hex");
    const { status } = await fetch(`${plane.url}/api/events/${connection}`, {
      method: "POST",
      headers: { "x-hub-signature-256": `sha256=${signature}` },
      body,
    });
    expect(status).toBe(202);
    const rows = await readRows(plane, "pull_requests", { connection_id: connection });
    await setRows(plane, "connections", { kind: "forgejo" }, { id: connection });
    expect(Object.fromEntries(rows.map((row) => [row.number, row.pusher_id]))).toEqual({
      1: "4711",
      2: "4712",
    });
    // Another head, another person.
    first.sha = "9".repeat(40);
    await look();
    const moved = await readRows(plane, "pull_requests", { head_commit: first.sha });
    expect(moved.map(({ pusher_id }) => pusher_id)).toEqual([null]);
  });

  it("is decided about by deployers of its space, in person, and once it has succeeded", async ({
    client,
    otherClient,
    team,
  }) => {
    const { id, reviewed, open, look, jobs } = await request(team.calls, team.space, {});
    const body = { decision: "approve" } as const;
    const named = { params: { id: reviewed }, body };
    for (const outsider of [client, otherClient])
      expect(await outsider.refusal("decideJob", named)).toBe("404 not_found");
    const planner = await team.join("planner");
    expect(await planner.calls.refusal("decideJob", named)).toBe("403 permission_denied");
    const token = await team.calls.call("createAccessToken", {
      body: { name: "ci", role: "deployer" },
    });
    const pipeline = callsOf(plane, bearer(token.access_token));
    expect(await pipeline.refusal("decideJob", named)).toBe("403 permission_denied");
    open(2, ["network/main.tf"]);
    await look();
    const queued = (await jobs(id)).at(-1)!;
    expect(await team.calls.refusal("decideJob", { params: queued, body })).toBe(
      "409 approval_not_needed",
    );
    const ordinary = await team.calls.call("createJob", {
      body: { job_type: "PLAN", configuration_id: id },
    });
    await setRows(plane, "jobs", { status: "SUCCESS", ended_at: 1 }, { id: ordinary.id });
    expect(await team.calls.refusal("decideJob", { params: ordinary, body })).toBe("409 job_ended");
  });

  it("runs with the role for plans, and its approval counts for the other role", async ({
    client,
    owner,
    runner,
    worker,
  }) => {
    await setRows(plane, "workers", { features: able }, { id: worker.id });
    const roleOf = (name: string) => `arn:aws:iam::123456789012:role/${name}`;
    const identity = await client.call("createCloudIdentity", {
      body: { name: "cloud", provider: "aws", role_arn: roleOf("deploy") },
    });
    const { look, configure, jobs, open, planned } = await follow(plane, host, client, owner);
    const id = await configure("network", { cloud_identity_id: identity.id });
    const warned = await client.call("getConfiguration", { params: { name: id } });
    expect(warned.follow?.warnings.join()).toContain("run without the cloud identity");
    open(1, ["network/main.tf"]);
    await look();
    expect((await jobs(id))[0]).toMatchObject({ cloud_identity_id: null });
    const params = { id: identity.id };
    const body = { plan_role_arn: roleOf("read") };
    expect(await client.call("updateCloudIdentity", { params, body })).toMatchObject(body);
    await client.call("cancelJob", { params: (await jobs(id))[0]! });
    await client.call("retryJob", { params: (await jobs(id))[0]! });
    const removal = { params, body: { plan_role_arn: null } };
    expect(await client.refusal("updateCloudIdentity", removal)).toBe("409 cloud_identity_in_use");
    const { job, cloud_identity } = await runner.call("claimJob");
    const { external_id } = identity;
    const used = { provider: "aws", external_id };
    expect(cloud_identity).toEqual({ ...used, role_arn: roleOf("read") });
    await planned(job.id, plan);
    // The deployment assumes the other role.
    const deploy = await client.call("createJob", {
      body: { job_type: "DEPLOY", configuration_id: id, plan_job_id: job.id },
    });
    const claimed = await runner.call("claimJob");
    expect([claimed.job.id, claimed.cloud_identity]).toEqual([
      deploy.id,
      { ...used, role_arn: roleOf("deploy") },
    ]);
    expect(
      (await client.call("getConfiguration", { params: { name: id } })).follow?.warnings.join(),
    ).not.toContain("cloud identity");
  });
});
