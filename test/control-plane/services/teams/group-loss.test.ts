/** A person who loses the groups of a team while they stream, have approved, and deploy there. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Role } from "../../../../protocol/roles.ts";
import { approvalSteps } from "../../../helpers/people/approvals.ts";
import {
  startCompanyProvider,
  type CompanyProvider,
} from "../../../helpers/people/company-provider.ts";
import { companySignIn, publicUrl } from "../../../helpers/people/company-sign-in.ts";
import { signIn as signInClient, bearer } from "../../../helpers/people/sign-in.ts";
import { addTeamSpec, callsWithin, openTeam } from "../../../helpers/people/teams.ts";
import { readRow } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const minute = 60_000;
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
const { allow, person, enter, staysIn, isIn, wait } = companySignIn(plane, () => company);
beforeEach(() => {
  Object.assign(company, { forge: undefined, isDown: false });
  allow("oidc:*");
});

/** A team with a configuration, and someone who has a role there by a group. */
async function start(role: Role) {
  const team = await openTeam(plane);
  const { admin, params, slug, calls } = team;
  await admin.client.call("replaceTeamGroups", {
    params,
    body: { groups: [{ issuer: "oidc", group: "engineers", role }] },
  });
  const { spec, runner } = await addTeamSpec(plane, slug);
  const { subject, email } = person({ groups: ["engineers"] });
  const { headers } = await enter();
  const own = callsWithin(plane, headers, slug);
  const loses = async (groups: readonly string[] = []) => {
    company.people.set(subject, { email, email_verified: true, groups });
    await wait(subject, 16 * minute);
    expect(await staysIn(headers)).toBe(true);
  };
  const steps = approvalSteps(plane, calls, runner, spec);
  return { team, spec, runner, subject, email, headers, own, calls, loses, steps };
}

describe("someone who loses the group", () => {
  test("gets no more of an open event stream, in the browser or a client", async () => {
    const { headers, loses, runner, calls, spec } = await start("viewer");
    const { id } = await calls.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec },
    });
    const { job } = await runner.call("claimJob");
    let seq = 0;
    const say = (line: string) =>
      runner.call("appendLogs", {
        params: job,
        body: { seq: (seq += 1), stream_type: "STDOUT", log_chunk: `${line};` },
      });
    await say("first");
    const { access_token } = await signInClient(plane, { headers });
    const streams = await Promise.all(
      [headers, bearer(access_token)].map(async (credential) => {
        const address = `${plane.url}/api/jobs/${id}/logs/stream`;
        const { status, body } = await fetch(address, { headers: credential });
        expect(status).toBe(200);
        const got = { text: "", isOver: false };
        const reading = (async () => {
          for await (const chunk of body!) got.text += Buffer.from(chunk).toString();
        })()
          .catch(() => undefined)
          .finally(() => (got.isOver = true));
        await expect.poll(() => got.text).toContain("first;");
        return { got, reading };
      }),
    );
    await loses();
    await say("after");
    await Promise.all(streams.map(({ reading }) => reading));
    for (const { got } of streams) expect(got.text).not.toContain("after;");
    // The login goes on: only the team has ended.
    expect(await isIn(headers)).toBe(true);
  });

  test("has no vote any longer, and again one when the group comes back", async () => {
    const { own, steps, loses } = await start("deployer");
    await steps.rule({ count: 1 });
    const job = await steps.deploy(await steps.plan());
    await own.call("decideJob", { params: { id: job.id }, body: { decision: "approve" } });
    await loses();
    expect(await steps.claim()).toBeUndefined();
    await loses(["engineers"]);
    expect(await steps.claim()).toBe(job.id);
  });

  test("has a deployment that goes on to its end, and cannot cancel it", async () => {
    const { own, runner, loses, spec, calls, email } = await start("deployer");
    const { id } = await own.call("createJob", {
      body: { job_type: "DEPLOY", configuration_id: spec },
    });
    const { job } = await runner.call("claimJob");
    await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
    const queued = await own.call("createJob", {
      body: { job_type: "DEPLOY", configuration_id: spec },
    });
    await loses();
    expect(await own.refusal("cancelJob", { params: { id } })).toMatch(/^404/);
    await runner.call("reportStatus", { params: job, body: { status: "SUCCESS" } });
    expect(await calls.call("getJob", { params: { id } })).toMatchObject({ status: "SUCCESS" });
    // What waits is the team's, as that of a member who was removed.
    const next = await runner.call("claimJob");
    expect(next.job.id).toBe(queued.id);
    const { creator_id } = await readRow(plane, "jobs", { id });
    expect(await readRow(plane, "users", { id: creator_id ?? "" })).toMatchObject({ email });
  });
});

describe("at the same time", () => {
  test("sign-ins, renewals and changes of the groups agree in the end", async () => {
    const { team, own, subject, headers } = await start("deployer");
    const { admin, params } = team;
    const replace = (...roles: Role[]) =>
      admin.client.call("replaceTeamGroups", {
        params,
        body: { groups: roles.map((role) => ({ issuer: "oidc", group: "engineers", role })) },
      });
    for (let round = 0; round < 5; round += 1) {
      company.subject = subject;
      await wait(subject, 16 * minute);
      await Promise.all([
        replace("admin"),
        enter(),
        staysIn(headers),
        replace(),
        enter(),
        replace("planner"),
      ]);
      const { groups } = await admin.client.call("listTeamGroups", { params });
      const { members } = await admin.client.call("listMembers", { params });
      const mine = members.find(({ sources }) => sources?.includes("group"));
      expect(mine?.role).toBe(groups[0]?.role);
    }
    await replace("viewer");
    expect(await own.refusal("createZone", { body: { name: "x" } })).toMatch(/^403/);
  });
});
