/** Approvals in the console: the page of a deployment, the overview, lists and the rule. */
import { describe, expect, test } from "vitest";
import { endpoints } from "../../../../protocol/endpoints.ts";
import type { Role } from "../../../../protocol/roles.ts";
import { approvalSteps } from "../../../helpers/approvals.ts";
import { callsOf } from "../../../helpers/calls.ts";
import { words } from "../../../helpers/forms.ts";
import { addPerson, openTeam, type Person } from "../../../helpers/people.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { addTeamSpec, callsWithin } from "../../../helpers/teams.ts";

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
  (await client.get(endpoints.listTeams, {})).teams[0]?.slug ?? "";

describe("the page of a deployment that waits for approvals", () => {
  test("shows the plan, the rule and who can approve, and takes decisions with comments", async () => {
    const { admin, steps, member } = await openApprovals();
    const [grace, joan] = [await member("deployer"), await member("deployer")];
    await steps.rule({ count: 2 });
    const job = await steps.deploy(await steps.plan({ create: 2, delete: 1 }));
    const path = `/jobs/${job.id}`;
    const shown = await grace.page(path);
    expect(words(shown)).toContain("NEEDS APPROVAL");
    expect(words(shown)).toContain("Waits for 2 approvals by deployers");
    expect(words(shown)).toContain(
      "Every deployment needs 2 approvals by deployers other than its authors.",
    );
    const [first, second] = [grace.email, joan.email].toSorted();
    expect(words(shown)).toContain(
      `${first} or ${second} can approve it. The author is ${admin.email}.`,
    );
    // The plan comes before what happens to the job.
    expect(words(shown)).toMatch(/Approve \(destroys 1\).*What this plan changes.*Queued/);
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
    expect(approved).toMatch(/QUEUED +Approved /);
    expect(approved).not.toContain("You cannot decide");
    expect(approved).toContain(`${joan.email} approved`);
    expect(await steps.claim()).toBe(job.id);
    expect(words(await admin.page(path))).toContain(`${grace.email} approved`);
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
    expect(own).toContain("No member can approve it: an admin can give another member");
  });

  test("a rejection cancels it, and the page says who and why", async () => {
    const { admin, steps, member } = await openApprovals();
    const grace = await member("deployer");
    await steps.rule({});
    const job = await steps.deploy(await steps.plan());
    await grace.post(`/jobs/${job.id}/approvals`, { decision: "reject", comment: "not on Friday" });
    const page = words(await admin.page(`/jobs/${job.id}`));
    expect(page).toMatch(/CANCELLED .*Rejected .*not on Friday .*Plan again/);
    expect(page).toContain(`${grace.email} rejected`);
    expect(page).not.toContain("cancelled by its runner");
    expect(words(await admin.page("/jobs?team=" + (await teamOf(admin))))).toContain(
      `rejected by ${grace.email}: not on Friday`,
    );
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
    await team.calls.get(endpoints.updateConfiguration, {
      params: { name: spec },
      body: { environment: { A: "b" } },
    });
    const page = await grace.page(`/jobs/${job.id}`);
    expect(words(page)).toContain("The plan can no longer be applied. The configuration or one of");
    expect(page.text).not.toContain('value="approve"');
    expect(page.text).toContain('value="reject"');
    // Approved elsewhere, it fails when a runner claims it, and its page says why.
    await approvalSteps(plane, callsOf(plane, grace.headers), callsOf(plane, {}), spec).approve(
      job,
    );
    expect(await steps.claim()).toBeUndefined();
    expect(words(await grace.page(`/jobs/${job.id}`))).toMatch(
      /FAILED .*was changed after the plan was made, so plan again Approved/,
    );
  });
});
