/** Approvals in the console: the page of a deployment, the overview, lists and the rule. */
import { describe, expect, test } from "vitest";
import { abandonSpec } from "../../../../control-plane/store/configurations/removals.ts";
import type { Role } from "../../../../protocol/roles.ts";
import { approvalSteps } from "../../../helpers/people/approvals.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { addPerson, addTeamSpec, callsWithin, openTeam } from "../../../helpers/people/teams.ts";
import type { Person } from "../../../helpers/people/sign-in.ts";
import { readRow } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addPullRequest, addRows } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();

/** A team with a configuration, whose admin makes plans; others join. */
async function openApprovals() {
  const team = await openTeam(plane);
  const { spec, runner } = await addTeamSpec(plane, team.slug);
  const as = ({ headers }: Pick<Person, "headers">) =>
    approvalSteps(plane, callsWithin(plane, headers, team.slug), runner, spec);
  return {
    team,
    spec,
    runner,
    admin: team.admin,
    as,
    steps: as(team.admin),
    member: (role: Role) => addPerson(plane, team, role),
  };
}

const form = (id: string) => `action="/jobs/${id}/approvals"`;

/** The slug of a person's team. */
const teamOf = async ({ client }: Person): Promise<string> =>
  (await client.call("listTeams")).teams[0]?.slug ?? "";

describe("the page of a deployment that waits for approvals", () => {
  test("shows the plan, the rule and who can approve, and takes decisions with comments", async () => {
    const { admin, steps, member } = await openApprovals();
    const [grace, joan] = [await member("deployer"), await member("deployer")];
    await steps.rule({ count: 2 });
    const job = await steps.deploy(await steps.plan({ create: 2, delete: 1, replace: 2 }));
    const path = `/jobs/${job.id}`;
    const shown = await grace.page(path);
    expect(words(shown)).toContain("Needs approval");
    expect(words(shown)).toContain("Waits for 2 approvals by deployers");
    expect(words(shown)).toContain(
      "Every deployment needs 2 approvals by deployers other than its authors.",
    );
    const [first, second] = [grace.email, joan.email].toSorted();
    expect(words(shown)).toContain(
      `${first} or ${second} can approve it. The author is ${admin.email}.`,
    );
    // The decision stands below what is decided.
    expect(words(shown)).toMatch(
      /What this plan changes.*Waits for 2 approvals.*Approve \(destroys 1, replaces 2\).*Queued/,
    );
    expect(texts(shown, ".panel.shown h2")).toContain("What this plan changes");
    expect(texts(shown, "[href='#approval-title']")).toEqual(["Review"]);
    const comment = "line 1\r\n<b>line 2</b>";
    const sent = await grace.post(`${path}/approvals`, { decision: "approve", comment });
    expect([sent.status, sent.headers["location"]]).toEqual([303, path]);
    const voted = await grace.page(path);
    expect(words(voted)).toContain("Waits for 1 approval by a deployer");
    expect(voted.text).toContain("<bdi>line 1\n&lt;b&gt;line 2&lt;/b&gt;</bdi>");
    expect(words(voted)).toContain(`${joan.email} can approve it.`);
    expect(words(voted)).toContain("You have approved it. Until it starts, you can still reject");
    expect(voted.text).not.toContain('value="approve"');
    expect((await joan.page(path)).text).toContain('value="approve"');
    await joan.post(`${path}/approvals`, { decision: "approve", comment: " " });
    const approved = words(await admin.page(path));
    expect(approved).toMatch(/ Queued .* Approved /);
    expect(approved).not.toContain("You cannot decide");
    expect(approved).toContain(`${joan.email} approved`);
    expect(await steps.claim()).toBe(job.id);
    expect(words(await admin.page(path))).toContain(`${grace.email} approved`);
  });

  test("takes decisions about the plan of a pull request, and shows how another one differs", async () => {
    const { admin, team, steps, spec, member } = await openApprovals();
    const grace = await member("deployer");
    await steps.rule({});
    const { id: owner_id } = await readRow(plane, "teams", { slug: team.slug });
    const connection = await callsWithin(plane, admin.headers, team.slug).call("createConnection", {
      body: { name: "git", kind: "github", credential: "x" },
    });
    const pull = await addPullRequest(plane.context.store, {
      owner_id,
      connection_id: connection.id,
    });
    const [reviewed, merged] = [await steps.plan(), await steps.plan({ delete: 1 })];
    const url = "https://github.com/ada/infra-1";
    const change = { connection_id: connection.id, repository: "ada/infra-1", branch: "main", url };
    for (const [job, own] of [
      [reviewed, { pull_request_id: pull.id, commit_id: pull.head_commit }],
      [merged, { merged_request_id: pull.id, commit_id: "b".repeat(40) }],
    ] as const)
      await addRows(plane.context.store, "job_changes", {
        ...own,
        job_id: job.id,
        connection_id: connection.id,
        spec_id: spec,
        change: JSON.stringify({ ...change, commit: own.commit_id, pull_request: null }),
        withheld: "[]",
        settings_hash: "",
        post_at: null,
      });
    const path = `/jobs/${reviewed.id}`;
    const shown = await grace.page(path);
    expect(words(shown)).toContain("Waits for 1 approval by a deployer");
    await grace.post(`${path}/approvals`, { decision: "approve", comment: "" });
    expect(words(await grace.page(path))).toContain(`${grace.email} approved`);
    const after = words(await grace.page(`/jobs/${merged.id}`));
    expect(after).toContain("The plan differs from the one that was reviewed.");
    expect(after).toContain("They differ in values that plans do not show.");
  });

  test("says why a person cannot decide", async () => {
    const { admin, steps, member } = await openApprovals();
    await steps.rule({});
    const job = await steps.deploy(await steps.plan());
    const read = async (person: Person) => {
      const page = await person.page(`/jobs/${job.id}`);
      expect(page.text).not.toContain(form(job.id));
      return words(page);
    };
    expect(await read(await member("viewer"))).toContain(
      "You cannot decide. This needs the role deployer. You have the role viewer.",
    );
    expect(await read(await member("planner"))).toContain("You have the role planner.");
    const own = await read(admin);
    expect(own).toContain("You cannot decide. You created this deployment or its plan");
    expect(own).toContain("No member can approve it: an admin can change the rule");
  });

  test("a rejection cancels it, and the page says who and why", async () => {
    const { admin, steps, member } = await openApprovals();
    const grace = await member("deployer");
    await steps.rule({});
    const job = await steps.deploy(await steps.plan());
    await grace.post(`/jobs/${job.id}/approvals`, { decision: "reject", comment: "not on Friday" });
    const page = words(await admin.page(`/jobs/${job.id}`));
    expect(page).toMatch(/Cancelled .*Plan again .*Rejected .*not on Friday /);
    expect(page).toContain(
      "Nothing was applied. If the plan is still up to date, it can be deployed",
    );
    expect(page).not.toContain("applied only once");
    expect(page).toContain(`${grace.email} rejected`);
    expect(page).not.toContain("cancelled by its runner");
    const text = words(await admin.page(`/jobs?team=${await teamOf(admin)}`));
    expect(text).toMatch(/DEPLOY \S+ Cancelled /);
    expect(text).toContain(`rejected by ${grace.email}: not on Friday`);
    expect(text).not.toContain("Needs approval");
  });

  test("a decision that comes too late or is too long shows the page and why", async () => {
    const { steps, member } = await openApprovals();
    const grace = await member("deployer");
    await steps.rule({});
    const job = await steps.deploy(await steps.plan());
    const path = `/jobs/${job.id}/approvals`;
    const long = await grace.post(path, { decision: "reject", comment: "x".repeat(1001) });
    expect(long.status).toBe(400);
    expect(long.text).toContain("x".repeat(1001));
    expect(words(long)).toContain("Nothing was changed.");
    expect((await grace.post(path, { decision: "" })).status).toBe(400);
    await grace.post(path, { decision: "approve" });
    await steps.claim();
    await steps.rule(null);
    const late = await grace.post(path, { decision: "reject" });
    expect(late.status).toBe(409);
    expect(words(late)).toContain("Nothing was changed. No approval rule");
  });

  test("warns that the plan is stale, and offers only the rejection", async () => {
    const { team, spec, steps, member } = await openApprovals();
    const grace = await member("deployer");
    await steps.rule({});
    const job = await steps.deploy(await steps.plan());
    await team.calls.call("updateConfiguration", {
      params: { name: spec },
      body: { environment: { A: "b" } },
    });
    const page = await grace.page(`/jobs/${job.id}`);
    expect(words(page)).toContain("The plan can no longer be applied. The configuration or one of");
    expect(words(page)).toContain("The deployment fails within a minute.");
    expect(words(page)).not.toContain("can approve it");
    expect(page.text).not.toContain('value="approve"');
    expect(page.text).toContain('value="reject"');
    expect(words(await grace.page("/"))).toMatch(/Needs you .*The plan is out of date/);
    const { jobs } = await team.calls.call("listJobs", { query: { status: "QUEUED" } });
    expect(jobs.map(({ id, approval_need: need }) => [id, need?.plan_staleness])).toEqual([
      [job.id, expect.stringContaining("was changed after the plan was made")],
    ]);
    // Approved elsewhere, it fails when a runner claims it, and its page says why.
    await approvalSteps(plane, callsOf(plane, grace.headers), callsOf(plane, {}), spec).approve(
      job,
    );
    expect(await steps.claim()).toBeUndefined();
    expect(words(await grace.page(`/jobs/${job.id}`))).toMatch(
      /Failed .*Plan again .*was changed after the plan was made, so plan again .*Nothing was applied\. To try again, make a new plan\. .*Approved /,
    );
  });
});

test("a configuration is not deleted while its deployment waits for approval", async () => {
  const { team, spec, steps, admin } = await openApprovals();
  await steps.rule({});
  const job = await steps.deploy(await steps.plan());
  const params = { name: spec };
  await expect(team.calls.call("deleteConfiguration", { params })).rejects.toMatchObject({
    code: "configuration_busy",
    message: expect.stringContaining(`(job ${job.id}) has not ended`),
  });
  // While the removal of a long history runs, what still names the configuration can be read.
  await plane.context.store.write((tx) => abandonSpec(tx, spec));
  expect((await admin.page("/")).status).toBe(200);
  expect((await admin.page(`/jobs/${job.id}`)).status).toBe(200);
  const { jobs } = await team.calls.call("listJobs");
  const found = jobs.find(({ id }) => id === job.id);
  // The server's round ends it within a minute.
  expect(found?.approval_need?.plan_staleness ?? found?.error_message).toBe(
    "The configuration no longer exists",
  );
});

describe("the overview", () => {
  test("lists in every space what waits for the reader, and what of theirs waits for others", async () => {
    const { admin, spec, steps, member, team } = await openApprovals();
    const [grace, viewer] = [await member("deployer"), await member("viewer")];
    const first = async (person: Person, path = "/") =>
      words(await person.page(path)).split(" Running ")[0] ?? "";
    expect(await first(grace)).not.toContain("Needs you");
    await steps.rule({ count: 2 });
    const job = await steps.deploy(await steps.plan({ create: 2 }));
    const own = await first(admin);
    expect(own).toMatch(
      new RegExp(
        `Waits for others 1 ${spec} DEPLOY .*: \\+2 ?0 of 2 approvals · ${team.slug} · .*${grace.email} can`,
      ),
    );
    expect(own).not.toContain("Needs you");
    // It is not repeated as something that is stuck.
    expect(await first(admin, `/?team=${team.slug}`)).not.toContain("Needs you");
    // In the personal space, too, and for those only who may approve.
    const mine = await first(grace);
    expect(mine).toMatch(
      new RegExp(`Needs you 1 ${spec} DEPLOY by ${admin.email} needs approval: \\+2 ?0 of 2`),
    );
    expect(mine).not.toContain("Waits for others");
    expect(await first(viewer)).not.toContain("Needs you");
    await steps.rule({ count: 2, by_author: true });
    expect(await first(admin)).toMatch(/Needs you .*0 of 2/);
    await as(grace, job.id);
    expect(await first(grace)).not.toContain("Needs you");
    expect(await first(admin)).toMatch(/Needs you .*1 of 2/);
    await as(admin, job.id);
    expect(await first(admin)).not.toContain("Needs you");
  });
});

const as = ({ post }: Person, job: string) =>
  post(`/jobs/${job}/approvals`, { decision: "approve" });

describe("the page of a configuration", () => {
  test("shows and changes the rule, for admins only, and not over another's change", async () => {
    const { admin, spec, member, team } = await openApprovals();
    const path = `/configurations/${spec}/settings`;
    const read = async () =>
      (await team.calls.call("getConfiguration", { params: { name: spec } })).approval;
    const seen = async () =>
      attributes(await admin.page(path), `form[action$=approval] [name=seen]`, "value")[0] ?? "";
    expect(words(await admin.page(path))).toContain("No deployment needs an approval.");
    const before = await seen();
    const rule = { when: "destructive", count: "2", by_author: "on" };
    const saved = await admin.post(`${path}/approval`, { ...rule, seen: before });
    expect([saved.status, saved.headers["location"]]).toEqual([303, `${path}#approvals`]);
    expect(await read()).toEqual({ when: "destructive", count: 2, by_author: true });
    expect(words(await admin.page(path))).toContain(
      "A deployment that deletes or replaces something needs 2 approvals by deployers; an author may approve.",
    );
    const stale = await admin.post(`${path}/approval`, { when: "", seen: before });
    expect([stale.status, words(stale)]).toEqual([409, expect.stringContaining("in another tab")]);
    expect((await admin.post(`${path}/approval`, { ...rule, count: "6" })).status).toBe(400);
    const deployer = await member("deployer");
    const page = await deployer.page(path);
    expect(texts(page, `button[disabled][title="Needs the role admin"]`)).toContain(
      "Save the rule",
    );
    expect((await deployer.post(`${path}/approval`, { when: "" })).status).toBe(403);
    await admin.post(`${path}/approval`, { when: "", seen: await seen() });
    expect(await read()).toBeNull();
  });

  test("with a rule, offers plans in place of a direct deployment and destruction", async () => {
    const { spec, steps, admin, team } = await openApprovals();
    const path = `/configurations/${spec}`;
    const direct = "[value=DEPLOY], [value=DESTROY]";
    const settings = `${path}/settings`;
    expect(texts(await admin.page(settings), direct)).toHaveLength(2);
    await steps.rule({});
    const page = await admin.page(settings);
    expect(texts(page, direct)).toEqual([]);
    expect(words(page)).toContain("Plan, then ask for approval");
    expect(words(page)).toContain("Plan the destruction, then ask for approval");
    // A form that was drawn before the rule comes back with what to do.
    const refused = await admin.post(`${path}/jobs`, { job_type: "DEPLOY" });
    expect(refused.status).toBe(409);
    expect(words(refused)).toContain("requires approvals: create a PLAN, then DEPLOY that plan.");
    const planned = await admin.post(`${path}/jobs`, { job_type: "PLAN", mode: "destroy" });
    expect(planned.status).toBe(303);
    const plan = String(planned.headers["location"]).split("/").at(-1) ?? "";
    const { plan_options } = await team.calls.call("getJob", { params: { id: plan } });
    expect(plan_options).toMatchObject({ destroy: true });
  });

  test("says that a deployment waits, also while another job runs", async () => {
    const { admin, spec, steps, team } = await openApprovals();
    await steps.rule({});
    const plan = await steps.plan();
    expect(words(await admin.page(`/jobs/${plan.id}`))).toContain(
      "The deployment then waits for 1 approval by a deployer other than its authors.",
    );
    const job = await steps.deploy(plan);
    await team.calls.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec },
    });
    await steps.claim();
    const page = await admin.page(`/configurations/${spec}`);
    expect(words(page)).toMatch(
      /A DEPLOY waits for 1 approval by a deployer other than .*PLAN runs/,
    );
    expect(texts(page, `[href="/jobs/${job.id}"]`)).toContain("DEPLOY");
    const cancelled = await team.calls.call("cancelJob", { params: job });
    expect(cancelled.status).toBe("CANCELLED");
  });

  test("a job without a plan from before the rule is planned again, not repeated", async () => {
    const { admin, spec, steps, team } = await openApprovals();
    const body = { job_type: "DESTROY", configuration_id: spec } as const;
    const { id } = await team.calls.call("createJob", { body });
    await steps.rule({});
    expect(words(await admin.page(`/jobs/${id}`))).toContain("Waits for a plan");
    await team.calls.call("cancelJob", { params: { id } });
    const page = await admin.page(`/jobs/${id}`);
    expect(page.text).toContain("Plan the destruction, then ask for approval");
    expect(page.text).not.toContain("/retry");
  });
});
