/** Approval rules: which deployments wait, who may approve them, and that nothing gets around. */
import { describe, expect, test } from "vitest";
import { endStale } from "../../../../control-plane/services/approvals/staleness.ts";
import type { ApprovalRule } from "../../../../protocol/approvals.ts";
import type { Role } from "../../../../protocol/roles.ts";
import type { CreateJob } from "../../../../protocol/jobs.ts";
import { approvalSteps } from "../../../helpers/people/approvals.ts";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addOwner, addSpec, addState } from "../../../helpers/plane/rows.ts";
import { addMember, addTeam, addTeamSpec, type GivenRoles } from "../../../helpers/people/teams.ts";
import { addTestUser, type TestUser } from "../../../helpers/people/user.ts";
import { counted } from "../../../helpers/store/work.ts";
import { bearer } from "../../../helpers/people/sign-in.ts";

const { plane, it: base } = planeForFile();

const roleOf = (name: string) => `arn:aws:iam::123456789012:role/${name}`;

const it = base
  .extend("steps", ({ client, runner, spec }) => approvalSteps(plane, client, runner, spec))
  .extend("identity", async ({ client, spec }) => {
    const body = { name: "cloud", provider: "aws" as const, role_arn: roleOf("reader") };
    const { id } = await client.call("createCloudIdentity", { body });
    await client.call("updateConfiguration", {
      params: { name: spec },
      body: { cloud_identity_id: id },
    });
    return id;
  })
  .extend("setRole", ({ client, identity }) => async (name: string) => {
    const body = { role_arn: roleOf(name) };
    await client.call("updateCloudIdentity", { params: { id: identity }, body });
  });

const single: Partial<ApprovalRule> = { by_author: true };

describe("an approval rule", () => {
  it("is shown, changed and removed", async ({ client, spec, steps }) => {
    const read = async () =>
      (await client.call("getConfiguration", { params: { name: spec } })).approval;
    expect(await read()).toBeNull();
    await steps.rule({ when: "destructive", count: 2 });
    expect(await read()).toEqual({ when: "destructive", count: 2, by_author: false });
    await client.call("updateConfiguration", { params: { name: spec }, body: { labels: ["a"] } });
    expect(await read()).toEqual({ when: "destructive", count: 2, by_author: false });
    await steps.rule(null);
    expect(await read()).toBeNull();
    const { audit_entries } = await client.call("listAuditEntries", {
      query: { target_id: spec, action: "configuration.update" },
    });
    expect(audit_entries.map(({ details }) => details)).toEqual([
      { fields: ["approval"], approval: "none" },
      { fields: ["labels"] },
      { fields: ["approval"], approval: "destructive, 2 people" },
    ]);
  });

  it("is set and changed by an admin only", async ({ client, owner, spec, steps }) => {
    const token = await client.call("createAccessToken", {
      body: { name: "ci", role: "deployer" },
    });
    const pipeline = callsOf(plane, bearer(token.access_token));
    const named = { params: { name: spec } };
    const body = { approval: { when: "always" as const } };
    expect(await pipeline.refusal("updateConfiguration", { ...named, body })).toBe(
      "403 permission_denied",
    );
    const created = {
      name: "new",
      zone_id: owner.zone,
      source: { type: "inline", files: { "main.tf": "" } },
      ...body,
    } as const;
    expect(await pipeline.refusal("createConfiguration", { body: created })).toBe(
      "403 permission_denied",
    );
    expect(await client.call("createConfiguration", { body: created })).toMatchObject({
      approval: { when: "always", count: 1, by_author: false },
    });
    await steps.rule({});
    // An equal rule is no change.
    await pipeline.call("updateConfiguration", { ...named, body });
    expect(
      await pipeline.refusal("updateConfiguration", { ...named, body: { approval: null } }),
    ).toBe("403 permission_denied");
  });

  it.for([
    ["always", { create: 1 }, true],
    ["destructive", { create: 1, update: 1, forget: 1 }, false],
    ["destructive", { delete: 1 }, true],
    ["destructive", { replace: 1 }, true],
    ["destructive", null, true],
  ] as const)("for %s plans covers %j: %s", async ([when, counts, isCovered], { steps }) => {
    await steps.rule({ when });
    const job = await steps.deploy(await steps.plan(counts));
    expect(job.waiting_reason?.startsWith("waits for 1 approval")).toBe(isCovered);
    expect(await steps.claim()).toBe(isCovered ? undefined : job.id);
  });

  it("requires a plan of DEPLOY, DESTROY and DESTROY_WORKER, also of their retries", async ({
    client,
    spec,
    steps,
    worker,
  }) => {
    const direct: CreateJob[] = [
      { job_type: "DEPLOY", configuration_id: spec },
      { job_type: "DESTROY", configuration_id: spec },
      { job_type: "DESTROY_WORKER", assigned_worker_id: worker.id },
    ];
    await client.call("updateWorker", {
      params: worker,
      body: { deploy_configuration: { configuration_id: spec, all: true } },
    });
    const cancelled = [];
    for (const body of direct) {
      const job = await client.call("createJob", { body });
      cancelled.push(await client.call("cancelJob", { params: job }));
    }
    await steps.rule({ when: "destructive" });
    for (const body of direct)
      expect(await client.refusal("createJob", { body })).toBe("409 plan_required");
    for (const job of cancelled)
      expect(await client.refusal("retryJob", { params: job })).toBe("409 plan_required");
    await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec, destroy: true },
    });
  });

  it("lets an earlier job without a plan only be rejected", async ({ client, spec, steps }) => {
    const body = { job_type: "DEPLOY", configuration_id: spec } as const;
    const job = await client.call("createJob", { body });
    await steps.rule(single);
    expect(await steps.claim()).toBeUndefined();
    const params = { id: job.id };
    expect((await client.call("getJob", { params })).waiting_reason).toMatch(/^waits for a plan/);
    expect(await client.refusal("decideJob", { params, body: { decision: "approve" } })).toBe(
      "409 plan_required",
    );
    expect(await steps.reject(job)).toMatchObject({ status: "CANCELLED" });
  });

  it("holds up no other job of the configuration", async ({ client, spec, steps }) => {
    await steps.rule({});
    const waiting = await steps.deploy(await steps.plan());
    const plan = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec },
    });
    expect(await steps.claim()).toBe(plan.id);
    expect(waiting.status).toBe("QUEUED");
  });

  it("counts from the moment it is set, and no longer when it is removed", async ({ steps }) => {
    const job = await steps.deploy(await steps.plan());
    await steps.rule({});
    expect(await steps.claim()).toBeUndefined();
    await steps.rule({ when: "destructive" });
    expect(await steps.claim()).toBe(job.id);
  });

  it("counts for a claimed job that returns to the queue", async ({ client, steps, worker }) => {
    const job = await steps.deploy(await steps.plan());
    expect(await steps.claim()).toBe(job.id);
    await steps.rule({});
    await client.ask("drainWorker", { params: worker });
    await client.call("deleteWorker", { params: worker });
    expect(await client.call("getJob", { params: job })).toMatchObject({
      status: "QUEUED",
      waiting_reason: expect.stringContaining("waits for 1 approval"),
    });
  });
});

describe("an approval", () => {
  it("lets a waiting claim have the job at once", async ({ runner, steps }) => {
    await steps.rule(single);
    const job = await steps.deploy(await steps.plan());
    expect(job.waiting_reason).toBe("waits for 1 approval by a deployer");
    const claim = runner.call("claimJob", { query: { wait: 30 } });
    const approved = await steps.approve(job, "looks right");
    expect(approved.approvals).toEqual([
      {
        user_id: expect.any(String),
        email: expect.stringContaining("@example.com"),
        decision: "approve",
        comment: "looks right",
        at: expect.any(String),
      },
    ]);
    expect((await claim).job.id).toBe(job.id);
  });

  it("of an author is refused unless the rule permits it", async ({ client, owner, steps }) => {
    await steps.rule({});
    const plan = await steps.plan();
    const job = await steps.deploy(plan);
    const other = await steps.createdByAnother(job);
    const refusal = () =>
      client.refusal("decideJob", { params: job, body: { decision: "approve" } });
    expect(await refusal()).toBe("403 approver_is_author");
    expect(await client.refusal("decideJob", { params: job, body: { decision: "reject" } })).toBe(
      "403 approver_is_author",
    );
    const { waiting_reason } = await client.call("getJob", { params: job });
    expect(waiting_reason).toBe(
      `waits for 1 approval by a deployer other than ${other} and ${owner.id}@example.com`,
    );
    await steps.createdByAnother(plan);
    expect((await steps.approve(job)).waiting_reason).not.toContain("waits for");
    expect(await steps.claim()).toBe(job.id);
  });

  it("of an author no longer counts when the rule excludes authors", async ({ steps }) => {
    await steps.rule(single);
    const job = await steps.deploy(await steps.plan());
    await steps.approve(job);
    await steps.rule({ by_author: false });
    expect(await steps.claim()).toBeUndefined();
  });

  it("counts once for each person", async ({ client, steps }) => {
    await steps.rule({ ...single, count: 2 });
    const job = await steps.deploy(await steps.plan());
    await steps.approve(job);
    const again = await steps.approve(job, "still");
    expect(again.approvals).toMatchObject([{ decision: "approve", comment: "still" }]);
    expect(again.waiting_reason).toBe("waits for 1 approval by a deployer");
    expect(await steps.claim()).toBeUndefined();
    expect((await client.call("getJob", { params: job })).status).toBe("QUEUED");
  });

  it("of someone who may not approve any more does not count", async ({ steps }) => {
    await steps.rule(single);
    const job = await steps.deploy(await steps.plan());
    await steps.approve(job);
    const { id: user_id } = await addOwner(plane.context.store);
    await setRows(plane, "job_approvals", { user_id }, { job_id: job.id });
    // The job is in the queue, but the claim counts the approvals itself.
    expect(await readRows(plane, "jobs", { id: job.id })).toMatchObject([{ unapproved: 0 }]);
    expect(await steps.claim()).toBeUndefined();
  });

  it("by an access token is refused", async ({ client, steps }) => {
    await steps.rule(single);
    const job = await steps.deploy(await steps.plan());
    const token = await client.call("createAccessToken", { body: { name: "ci", role: "admin" } });
    const pipeline = callsOf(plane, bearer(token.access_token));
    expect(
      await pipeline.refusal("decideJob", { params: job, body: { decision: "approve" } }),
    ).toBe("403 permission_denied");
  });

  it("of a deployment by an access token is not its creator's", async ({ client, spec, steps }) => {
    await steps.rule({});
    const { id: plan_job_id } = await steps.plan();
    await steps.createdByAnother({ id: plan_job_id });
    const token = await client.call("createAccessToken", {
      body: { name: "ci", role: "deployer" },
    });
    const job = await callsOf(plane, bearer(token.access_token)).call("createJob", {
      body: { job_type: "DEPLOY", configuration_id: spec, plan_job_id },
    });
    expect(await client.refusal("decideJob", { params: job, body: { decision: "approve" } })).toBe(
      "403 approver_is_author",
    );
  });

  it("is refused if none is needed, and after the start", async ({ client, runner, steps }) => {
    const decide = (id: string) =>
      client.refusal("decideJob", { params: { id }, body: { decision: "approve" } });
    const plan = await steps.plan();
    expect(await decide(plan.id)).toBe("409 job_ended");
    const job = await steps.deploy(plan);
    expect(await decide(job.id)).toBe("409 approval_not_needed");
    const { job: claimed } = await runner.call("claimJob");
    await runner.call("reportStatus", { params: claimed, body: { status: "PROCESSING" } });
    await steps.rule(single);
    expect(await decide(job.id)).toBe("409 job_started");
    await runner.call("reportStatus", { params: claimed, body: { status: "SUCCESS" } });
    expect(await decide(job.id)).toBe("409 job_ended");
  });
});

/** A team whose admin sets rules and makes plans, and people who decide. */
async function addDeciders() {
  const admin = await addTestUser(plane);
  const { slug, calls } = await addTeam(plane, admin);
  const { spec, runner, worker } = await addTeamSpec(plane, slug);
  const member = (given: GivenRoles) => addMember(plane, admin, slug, given);
  const as = (calls: Calls) => approvalSteps(plane, calls, runner, spec);
  return { admin: { ...admin, calls }, slug, spec, worker, member, as, steps: as(calls) };
}

describe("in a team", () => {
  it("as many deployers must approve as the rule says, and no author is one of them", async () => {
    const { admin, member, as, steps } = await addDeciders();
    const [bob, grace, joan] = [
      await member("deployer"),
      await member("deployer"),
      await member("admin"),
    ];
    const [viewer, planner] = [await member("viewer"), await member("planner")];
    await steps.rule({ count: 2 });
    const plan = await steps.plan();
    const job = await as(bob.calls).deploy(plan);
    const addressOf = ({ owner }: TestUser) => `${owner.id}@example.com`;
    expect(job.waiting_reason).toBe(
      `waits for 2 approvals by deployers other than ${addressOf(bob)} and ${addressOf(admin)}`,
    );
    const refusalOf = ({ calls }: { readonly calls: Calls }) =>
      calls.refusal("decideJob", { params: job, body: { decision: "approve" } });
    expect(await Promise.all([admin, bob].map(refusalOf))).toEqual(
      Array.from({ length: 2 }, () => "403 approver_is_author"),
    );
    expect(await Promise.all([viewer, planner].map(refusalOf))).toEqual(
      Array.from({ length: 2 }, () => "403 permission_denied"),
    );
    const outsider = await addTestUser(plane);
    expect(await refusalOf({ calls: outsider.client })).toBe("404 not_found");
    await as(grace.calls).approve(job);
    expect(await steps.claim()).toBeUndefined();
    const approved = await as(joan.calls).approve(job);
    expect(approved.approvals?.map(({ email }) => email)).toEqual([grace, joan].map(addressOf));
    expect(await steps.claim()).toBe(job.id);
  });

  it("a deployer of its zone may approve, and the vote ends with that role", async () => {
    const { admin, slug, spec, member, as, steps } = await addDeciders();
    const { zone_id } = await readRow(plane, "specs", { id: spec });
    const other = await admin.calls.call("createZone", { body: { name: "other" } });
    const inZone = (zone: string) => member({ role: "viewer", zones: { [zone]: "deployer" } });
    const [grace, joan] = [await inZone(zone_id), await inZone(other.id)];
    const only = await member({ role: null, zones: { [zone_id]: "deployer" } });
    await steps.rule({ count: 1 });
    const job = await steps.deploy(await steps.plan());
    const addressOf = ({ owner }: TestUser) => `${owner.id}@example.com`;
    expect(job.approval_need?.approvers).toEqual([grace, only].map(addressOf).toSorted());
    const waiting = async ({ calls }: { readonly calls: Calls }) =>
      (await calls.call("listJobs", { query: { waiting_for_me: true } })).jobs.map(({ id }) => id);
    expect(await Promise.all([grace, joan, only].map(waiting))).toEqual([[job.id], [], [job.id]]);
    const decide = { params: job, body: { decision: "approve" } } as const;
    expect(await joan.calls.refusal("decideJob", decide)).toBe("403 permission_denied");
    await as(only.calls).approve(job);
    expect(await readRows(plane, "jobs", { id: job.id })).toMatchObject([{ unapproved: 0 }]);
    await admin.client.call("updateMember", {
      params: { slug, user_id: only.owner.id },
      body: { zones: { [zone_id]: "planner" } },
    });
    expect(await steps.claim()).toBeUndefined();
    await as(grace.calls).approve(job);
    expect(await steps.claim()).toBe(job.id);
  });

  it("a waiting job names its rule, what is missing, its authors and those who can approve", async () => {
    const { admin, member, as, steps } = await addDeciders();
    const [bob, grace] = [await member("deployer"), await member("deployer")];
    await member("planner");
    await steps.rule({ count: 2 });
    const job = await as(bob.calls).deploy(await steps.plan());
    const addressOf = ({ owner }: TestUser) => `${owner.id}@example.com`;
    const need = {
      rule: { when: "always", count: 2, by_author: false },
      missing: 2,
      authors: [bob, admin].map(addressOf),
      approvers: [addressOf(grace)],
      more_approvers: false,
      role_arn: null,
      plan_staleness: null,
    };
    expect(job.approval_need).toEqual(need);
    expect((await as(grace.calls).approve(job)).approval_need).toEqual({
      ...need,
      missing: 1,
      approvers: [],
    });
    const joan = await member("admin");
    await steps.rule({ count: 1, by_author: true });
    const shown = await grace.calls.call("getJob", { params: job });
    expect(shown.approval_need).toMatchObject({ missing: 0, authors: [], approvers: [] });
    await steps.rule({ count: 2, by_author: true });
    const wider = await grace.calls.call("getJob", { params: job });
    expect(wider.approval_need?.approvers).toEqual([admin, bob, joan].map(addressOf).toSorted());
    const { id } = await grace.calls.call("cancelJob", { params: job });
    expect((await grace.calls.call("getJob", { params: { id } })).approval_need).toBeNull();
  });

  it("a vote counts while its member has the role", async () => {
    const { admin, slug, member, as, steps } = await addDeciders();
    const grace = await member("deployer");
    await steps.rule({});
    const job = await steps.deploy(await steps.plan());
    await as(grace.calls).approve(job);
    const params = { slug, user_id: grace.owner.id };
    const toRole = (role: Role) => admin.client.call("updateMember", { params, body: { role } });
    await toRole("planner");
    expect(await steps.claim()).toBeUndefined();
    await toRole("admin");
    expect((await admin.calls.call("getJob", { params: job })).waiting_reason).not.toContain(
      "waits",
    );
    await admin.client.call("removeMember", { params });
    expect(await steps.claim()).toBeUndefined();
    const joan = await member("deployer");
    await as(joan.calls).approve(job);
    expect(await steps.claim()).toBe(job.id);
  });
});

describe("the list of deployments that wait for the caller", () => {
  it("has those that the caller may approve and has not", async () => {
    const { admin, member, as, steps, spec } = await addDeciders();
    const [bob, grace] = [await member("deployer"), await member("deployer")];
    const planner = await member("planner");
    const waiting = async ({ calls }: { readonly calls: Calls }, query: object = {}) =>
      (await calls.call("listJobs", { query: { waiting_for_me: true, ...query } })).jobs.map(
        ({ id }) => id,
      );
    await steps.rule({ count: 2 });
    const first = await steps.deploy(await steps.plan());
    const second = await as(bob.calls).deploy(await steps.plan());
    expect(await waiting(grace)).toEqual([second.id, first.id]);
    expect(await waiting(grace, { limit: 1 })).toEqual([second.id]);
    expect(await waiting(grace, { configuration: spec })).toEqual([second.id, first.id]);
    expect(await waiting(grace, { job_type: "PLAN" })).toEqual([]);
    expect(await waiting(bob)).toEqual([first.id]);
    expect(await waiting(admin)).toEqual([]);
    expect(await waiting(planner)).toEqual([]);
    await as(grace.calls).approve(second);
    expect(await waiting(grace)).toEqual([first.id]);
    await steps.rule({ by_author: true });
    expect(await waiting(admin)).toEqual([first.id]);
    await steps.rule(null);
    expect(await waiting(grace)).toEqual([]);
  });

  it("has none for an access token", async ({ client, steps }) => {
    await steps.rule(single);
    await steps.deploy(await steps.plan());
    const token = await client.call("createAccessToken", { body: { name: "ci", role: "admin" } });
    const pipeline = callsOf(plane, bearer(token.access_token));
    const query = { waiting_for_me: true };
    expect((await client.call("listJobs", { query })).jobs).toHaveLength(1);
    expect((await pipeline.call("listJobs", { query })).jobs).toEqual([]);
  });
});

describe("a rejection", () => {
  it("cancels the job, after approvals too, and is recorded", async ({ client, owner, steps }) => {
    await steps.rule(single);
    const job = await steps.deploy(await steps.plan());
    await steps.approve(job);
    const rejected = await steps.reject(job, "not on a Friday");
    expect(rejected).toMatchObject({
      status: "CANCELLED",
      error_message: `rejected by ${owner.id}@example.com: not on a Friday`,
      approvals: [{ decision: "reject", comment: "not on a Friday" }],
    });
    expect(await steps.claim()).toBeUndefined();
    const { audit_entries } = await client.call("listAuditEntries", {
      query: { target_id: job.id },
    });
    expect(audit_entries.map(({ action }) => action)).toEqual([
      "job.reject",
      "job.approve",
      "job.create",
    ]);
  });
});

describe("a plan that goes stale while its deployment waits for approvals", () => {
  it("ends this deployment with the reason", async ({ client, worker, spec, steps, owner }) => {
    const { context } = plane;
    const run = async () => endStale(context);
    const other = await addSpec(context.store, owner);
    const runner = callsOf(plane, worker.headers);
    const others = approvalSteps(plane, client, runner, other);
    await steps.rule({});
    await others.rule({});
    const [stale, good] = [
      await steps.deploy(await steps.plan()),
      await others.deploy(await others.plan()),
    ];
    expect(await run()).toBe(0);
    const change = (value: number) => ({
      params: { name: spec },
      body: { variables: { a: { value } } },
    });
    await client.call("updateConfiguration", change(1));
    // The server's own round may come first.
    await run();
    expect(await client.call("getJob", { params: stale })).toMatchObject({
      status: "FAILED",
      error_message: expect.stringContaining("was changed after the plan was made"),
      outcome_unknown: false,
    });
    expect((await client.call("getJob", { params: good })).status).toBe("QUEUED");
    const failed = await client.call("getConfiguration", { params: { name: spec } });
    expect(failed).toMatchObject({
      status: "FAILED",
      failed_job: { id: stale.id, started_at: null },
    });
    // It has not used its plan.
    const params = { id: stale.plan_job_id ?? "" };
    expect(await client.call("getPlanSummary", { params })).toMatchObject({
      deploy_job_id: null,
      not_deployable: { code: "plan_is_stale" },
    });
    // An approved one is checked at its claim, by the configuration of that moment.
    const approved = await steps.deploy(await steps.plan());
    await steps.rule({ by_author: true });
    await steps.approve(approved);
    await client.call("updateConfiguration", change(2));
    expect(await run()).toBe(0);
    await client.call("updateConfiguration", change(1));
    expect(await steps.claim()).toBe(approved.id);
  });

  it("is not decided while the values cannot be decrypted", async ({ client, spec, steps }) => {
    await steps.rule({});
    const body = { variables: { a: { value: "secret", sensitive: true } } };
    await client.call("updateConfiguration", { params: { name: spec }, body });
    const job = await steps.deploy(await steps.plan());
    const { definition } = await readRow(plane, "specs", { id: spec });
    const sealed = definition.replace(/"sealed":"[^"]{8}/, '"sealed":"AAAAAAAA');
    expect(sealed).not.toBe(definition);
    await setRows(plane, "specs", { definition: sealed }, { id: spec });
    expect(await endStale(plane.context)).toBe(0);
    expect((await client.call("getJob", { params: job })).status).toBe("QUEUED");
  });
});

test("a round of waiting deployments opens only what has changed since the last one", async () => {
  const { client, runner, owner } = await addTestUser(plane);
  const specs: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const spec = await addSpec(plane.context.store, owner);
    const steps = approvalSteps(plane, client, runner, spec);
    // Of more than 64 KiB, so that it is read and opened apart.
    const body = { variables: { large: { value: "x".repeat(100_000) } } };
    await client.call("updateConfiguration", { params: { name: spec }, body });
    await steps.rule({});
    await steps.deploy(await steps.plan());
    specs.push(spec);
  }
  const { context, work } = counted(plane.context);
  const round = async () => {
    const before = work.statements;
    expect(await endStale(context)).toBe(0);
    return work.statements - before;
  };
  // Also of what other tests have left.
  await round();
  const unchanged = await round();
  expect(await round()).toBe(unchanged);
  // Another version with the same values.
  const change = (version: number, ids: readonly string[]) =>
    Promise.all(ids.map((id) => setRows(plane, "specs", { version }, { id })));
  await change(1000, specs.slice(0, 1));
  const one = (await round()) - unchanged;
  expect(one).toBeGreaterThan(0);
  await change(2000, specs);
  expect(await round()).toBe(unchanged + specs.length * one);
  expect(await round()).toBe(unchanged);
});

describe("a deployment that ends in the queue", () => {
  it("is the failure of a deployed configuration, unless a job of that runs", async ({
    client,
    runner,
    spec,
    steps,
  }) => {
    const params = { name: spec };
    const statusOf = async () => (await client.call("getConfiguration", { params })).status;
    const change = (value: number) =>
      client.call("updateConfiguration", { params, body: { variables: { a: { value } } } });
    const deployed = await steps.deploy(await steps.plan());
    await steps.claim();
    for (const status of ["PROCESSING", "SUCCESS"] as const)
      await runner.call("reportStatus", { params: deployed, body: { status } });
    expect(await statusOf()).toBe("DEPLOYED");
    await steps.rule({});
    await steps.deploy(await steps.plan());
    await change(1);
    const running = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec },
    });
    await steps.claim();
    await runner.call("reportStatus", { params: running, body: { status: "PROCESSING" } });
    await endStale(plane.context);
    expect(await statusOf()).toBe("DEPLOYED");
    await runner.call("reportStatus", { params: running, body: { status: "SUCCESS" } });
    // A later deployment has taken its place.
    await steps.rule(single);
    const [superseded, later] = [
      await steps.deploy(await steps.plan()),
      await steps.deploy(await steps.plan()),
    ];
    await steps.approve(later);
    await steps.claim();
    for (const status of ["PROCESSING", "SUCCESS"] as const)
      await runner.call("reportStatus", { params: later, body: { status } });
    await change(2);
    await endStale(plane.context);
    expect((await client.call("getJob", { params: superseded })).status).toBe("FAILED");
    expect(await statusOf()).toBe("DEPLOYED");
    await steps.deploy(await steps.plan());
    await change(3);
    await endStale(plane.context);
    expect(await statusOf()).toBe("FAILED");
  });
});

describe("an approved plan that is stale at the claim", () => {
  it("by a changed configuration fails the deployment", async ({ client, spec, steps }) => {
    await steps.rule(single);
    const job = await steps.deploy(await steps.plan());
    await steps.approve(job);
    await client.call("updateConfiguration", {
      params: { name: spec },
      body: { variables: { a: { value: 1 } } },
    });
    expect(await steps.claim()).toBeUndefined();
    expect(await client.call("getJob", { params: job })).toMatchObject({
      status: "FAILED",
      error_message: expect.stringContaining("was changed after the plan was made"),
      outcome_unknown: false,
    });
  });

  it("by a variable set or the state fails it too, and the next job is claimed", async ({
    client,
    spec,
    steps,
  }) => {
    await steps.rule(single);
    const first = await steps.deploy(await steps.plan());
    const second = await steps.deploy(await steps.plan());
    await steps.approve(first);
    await steps.approve(second);
    await addState(plane.context.store, {
      spec_id: spec,
      blob: `${spec}-state`,
      created_at: Date.now() + 1000,
    });
    expect(await steps.claim()).toBeUndefined();
    for (const params of [first, second])
      expect(await client.call("getJob", { params })).toMatchObject({
        status: "FAILED",
        error_message: expect.stringContaining("The state was changed"),
      });
    const set = await client.call("createVariableSet", {
      body: { name: "set", variables: { b: { value: 1 } } },
    });
    await client.ask("attachToConfiguration", { params: { id: set.id, configuration_id: spec } });
    const plan = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec },
    });
    expect(await steps.claim()).toBe(plan.id);
  });

  it("without a rule fails by the state only", async ({ client, runner, spec, steps }) => {
    const changed = await steps.deploy(await steps.plan());
    const params = { name: spec };
    await client.call("updateConfiguration", { params, body: { variables: { a: { value: 1 } } } });
    expect(await steps.claim()).toBe(changed.id);
    for (const status of ["PROCESSING", "SUCCESS"] as const)
      await runner.call("reportStatus", { params: changed, body: { status } });
    const outdated = await steps.deploy(await steps.plan());
    const blob = `${spec}-state`;
    const created_at = Date.now() + 1000;
    await addState(plane.context.store, { spec_id: spec, blob, created_at });
    expect(await steps.claim()).toBeUndefined();
    expect(await client.call("getJob", { params: outdated })).toMatchObject({
      status: "FAILED",
      error_message: expect.stringContaining("The state was changed"),
    });
  });
});

describe("the cloud role of a plan", () => {
  it("is shown beside the approval", async ({ client, identity, steps }) => {
    await steps.rule(single);
    const { id } = await steps.deploy(await steps.plan());
    const job = await client.call("getJob", { params: { id } });
    expect([job.cloud_identity_id, job.approval_need?.role_arn]).toEqual([
      identity,
      roleOf("reader"),
    ]);
  });

  it("must be that of its deployment at its creation", async ({ setRole, steps, client, spec }) => {
    const plan = await steps.plan();
    const body = { job_type: "DEPLOY" as const, configuration_id: spec, plan_job_id: plan.id };
    await setRole("admin");
    expect(await client.refusal("createJob", { body })).toBe("409 plan_is_stale");
    await setRole("reader");
    const named = { params: { name: spec } };
    await client.call("updateConfiguration", { ...named, body: { cloud_identity_id: null } });
    expect(await client.refusal("createJob", { body })).toBe("409 plan_is_stale");
  });

  it.for([[single], [null]] as const)(
    "must still be that of its deployment at the claim, with the rule %j",
    async ([rule], { setRole, steps, client }) => {
      await steps.rule(rule);
      const job = await steps.deploy(await steps.plan());
      if (rule) await steps.approve(job);
      await setRole("admin");
      expect(await steps.claim()).toBeUndefined();
      const ended = await client.call("getJob", { params: job });
      expect([ended.status, ended.error_message]).toEqual([
        "FAILED",
        expect.stringContaining(roleOf("admin")),
      ]);
    },
  );

  it("may have another name, and be changed before the plan runs", async ({
    client,
    identity,
    steps,
    setRole,
  }) => {
    await setRole("admin");
    const job = await steps.deploy(await steps.plan());
    const body = { name: "renamed" };
    await client.call("updateCloudIdentity", { params: { id: identity }, body });
    expect(await steps.claim()).toBe(job.id);
  });

  it("without one comes from the worker, so labels and worker must be those of the plan", async ({
    client,
    spec,
    steps,
    worker,
  }) => {
    const plan = await steps.plan();
    const deploy = { job_type: "DEPLOY" as const, configuration_id: spec, plan_job_id: plan.id };
    const refuse = async (other: Partial<CreateJob>) =>
      client.refusal("createJob", { body: { ...deploy, ...other } });
    expect(await refuse({ labels: ["production"] })).toBe("409 plan_is_stale");
    expect(await refuse({ assigned_worker_id: worker.id })).toBe("409 plan_is_stale");
    const setLabels = async (labels: string[]) =>
      client.call("updateConfiguration", { params: { name: spec }, body: { labels } });
    await setLabels(["production"]);
    expect(await refuse({})).toBe("409 plan_is_stale");
    await setLabels([]);
    expect((await steps.deploy(plan)).status).toBe("QUEUED");
  });
});
