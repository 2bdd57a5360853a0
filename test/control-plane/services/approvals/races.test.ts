/**
 * Decisions, claims and changes that come at the same time: whatever their order, each round has
 * one honest outcome. `npm run prove` repeats each race 1,000 times.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../../../../protocol/endpoints.ts";
import type { Job } from "../../../../protocol/jobs.ts";
import { approvalSteps, type ApprovalSteps } from "../../../helpers/approvals.ts";
import { callsOf, type Calls } from "../../../helpers/calls.ts";
import { addTestWorker, clientHeaders, startPlane, type Plane } from "../../../helpers/plane.ts";
import { proving } from "../../../helpers/proving.ts";
import { addOwner, addSpec, addState } from "../../../helpers/rows.ts";
import { addMember, addTeam, addTeamSpec } from "../../../helpers/teams.ts";
import { addTestUser } from "../../../helpers/test-user.ts";

const { cancelJob, claimJob, decideJob, getJob, updateConfiguration } = endpoints;
const rounds = proving ? 1000 : 5;
const patience = proving ? 480_000 : 60_000;

interface Stage {
  readonly spec: string;
  readonly client: Calls;
  readonly steps: ApprovalSteps;
}

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

async function newStage(): Promise<Stage> {
  const owner = await addOwner(plane.context.store);
  const spec = await addSpec(plane.context.store, owner);
  const client = callsOf(plane, await clientHeaders(plane, owner));
  const runner = callsOf(plane, (await addTestWorker(plane, owner)).headers);
  return { spec, client, steps: approvalSteps(plane, client, runner, spec) };
}

/** Ends a job that is still open, so that the next round begins without it. */
async function clear({ client }: Stage, job: Job): Promise<void> {
  await client.refusal(cancelJob, { params: job });
}

async function race(body: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await newStage();
  for (let round = 0; round < rounds; round += 1) await body(stage);
}

describe("at the same time", () => {
  test("two approvals of one person count once", { timeout: patience }, () =>
    race(async (stage) => {
      const { client, steps } = stage;
      await steps.rule({ count: 2, by_author: true });
      const job = await steps.deploy(await steps.plan());
      const [, , claimed] = await Promise.all([
        steps.approve(job),
        steps.approve(job),
        steps.claim(),
      ]);
      expect(claimed).toBeUndefined();
      const found = await client.get(getJob, { params: job });
      expect(found.approvals).toHaveLength(1);
      expect(found.waiting_reason).toBe("waits for 1 approval by a deployer");
      await clear(stage, job);
    }),
  );

  test(
    "two approvals of two people give the job to one waiting claim",
    { timeout: patience },
    async () => {
      const admin = await addTestUser(plane);
      const { slug, calls } = await addTeam(plane, admin);
      const { spec, runner } = await addTeamSpec(plane, slug);
      const people = [
        await addMember(plane, admin, slug, "deployer"),
        await addMember(plane, admin, slug, "admin"),
      ];
      const steps = approvalSteps(plane, calls, runner, spec);
      await steps.rule({ count: 2 });
      for (let round = 0; round < rounds; round += 1) {
        const job = await steps.deploy(await steps.plan());
        const claim = runner.get(claimJob, { query: { wait: 30 } });
        await Promise.all(
          people.map((one) => approvalSteps(plane, one.calls, runner, spec).approve(job)),
        );
        expect((await claim).job.id).toBe(job.id);
        await calls.get(cancelJob, { params: job });
      }
    },
  );

  test("a member who is removed while approving has no vote", { timeout: patience }, async () => {
    const admin = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, admin);
    const { spec, runner } = await addTeamSpec(plane, slug);
    const steps = approvalSteps(plane, calls, runner, spec);
    await steps.rule({});
    for (let round = 0; round < (proving ? 200 : 3); round += 1) {
      const member = await addMember(plane, admin, slug, "deployer");
      const job = await steps.deploy(await steps.plan());
      const params = { slug, user_id: member.owner.id };
      const [refusal] = await Promise.all([
        member.calls.refusal(decideJob, { params: job, body: { decision: "approve" } }),
        admin.client.ask(endpoints.removeMember, { params }),
      ]);
      expect([
        "not refused",
        "401 unauthenticated",
        "404 not_found",
        "404 team_not_found",
      ]).toContain(refusal);
      expect(await steps.claim()).toBeUndefined();
      await calls.get(cancelJob, { params: job });
    }
  });

  test("of an approval and a rejection the rejection wins", { timeout: patience }, () =>
    race(async (stage) => {
      const { client, steps } = stage;
      await steps.rule({ by_author: true });
      const job = await steps.deploy(await steps.plan());
      const [approved, rejected] = await Promise.allSettled([
        steps.approve(job),
        steps.reject(job, "no"),
      ]);
      // The approval came first, or found the job cancelled.
      expect(rejected.status).toBe("fulfilled");
      if (approved.status === "rejected")
        expect(approved.reason).toMatchObject({ code: "job_ended" });
      expect(await client.get(getJob, { params: job })).toMatchObject({
        status: "CANCELLED",
        approvals: [{ decision: "reject" }],
      });
      expect(await steps.claim()).toBeUndefined();
    }),
  );

  test("a rejection and a claim end with a cancelled job", { timeout: patience }, () =>
    race(async (stage) => {
      const { client, steps } = stage;
      await steps.rule({ by_author: true });
      const job = await steps.deploy(await steps.plan());
      await steps.approve(job);
      const [claimed] = await Promise.all([steps.claim(), steps.reject(job, "no")]);
      expect([undefined, job.id]).toContain(claimed);
      // A claimed job has not started yet, so its runner is refused.
      expect((await client.get(getJob, { params: job })).status).toBe("CANCELLED");
    }),
  );

  test("a new rule and a claim: the job is claimed or it waits", { timeout: patience }, () =>
    race(async (stage) => {
      const { client, steps } = stage;
      await steps.rule(null);
      const job = await steps.deploy(await steps.plan());
      const [claimed] = await Promise.all([steps.claim(), steps.rule({})]);
      const { status, waiting_reason } = await client.get(getJob, { params: job });
      expect({ claimed, status, isWaiting: waiting_reason?.startsWith("waits for 1") }).toEqual(
        claimed === undefined
          ? { claimed, status: "QUEUED", isWaiting: true }
          : { claimed: job.id, status: "PROCESSING", isWaiting: undefined },
      );
      await clear(stage, job);
    }),
  );

  test("a stricter rule, an approval and a claim", { timeout: patience }, () =>
    race(async (stage) => {
      const { client, steps } = stage;
      await steps.rule({ by_author: true });
      const job = await steps.deploy(await steps.plan());
      const [claimed] = await Promise.all([
        steps.claim(),
        steps.approve(job),
        steps.rule({ count: 2, by_author: true }),
      ]);
      const { status, waiting_reason } = await client.get(getJob, { params: job });
      if (claimed === undefined) {
        expect(status).toBe("QUEUED");
        expect(waiting_reason).toBe("waits for 1 approval by a deployer");
      } else expect(status).toBe("PROCESSING");
      await clear(stage, job);
    }),
  );

  test(
    "a change of the configuration and a claim: it runs what was approved, or fails",
    {
      timeout: patience,
    },
    () =>
      race(async (stage) => {
        const { client, spec, steps } = stage;
        await steps.rule({ by_author: true });
        const job = await steps.deploy(await steps.plan());
        await steps.approve(job);
        const value = job.id;
        const [claimed] = await Promise.all([
          steps.claim(),
          client.get(updateConfiguration, {
            params: { name: spec },
            body: { variables: { a: { value } } },
          }),
        ]);
        const { status, error_message } = await client.get(getJob, { params: job });
        if (claimed === undefined) {
          expect(status).toBe("FAILED");
          expect(error_message).toContain("was changed after the plan was made");
        } else expect(status).toBe("PROCESSING");
        await clear(stage, job);
      }),
  );

  test(
    "a new state between the approval and the claim fails the deployment",
    {
      timeout: patience,
    },
    async () => {
      const stage = await newStage();
      const { client, spec, steps } = stage;
      await steps.rule({ by_author: true });
      const job = await steps.deploy(await steps.plan());
      const state = { spec_id: spec, blob: spec, created_at: Date.now() + 1000 };
      await Promise.all([steps.approve(job), addState(plane.context.store, state)]);
      expect(await steps.claim()).toBeUndefined();
      expect((await client.get(getJob, { params: job })).status).toBe("FAILED");
    },
  );

  test("approvals of a job that is cancelled are refused or undone", { timeout: patience }, () =>
    race(async (stage) => {
      const { client, steps } = stage;
      await steps.rule({ by_author: true });
      const job = await steps.deploy(await steps.plan());
      const [refusal] = await Promise.all([
        client.refusal(decideJob, { params: job, body: { decision: "approve" } }),
        client.get(cancelJob, { params: job }),
      ]);
      expect(["409 job_ended", "not refused"]).toContain(refusal);
      expect(await steps.claim()).toBeUndefined();
      expect((await client.get(getJob, { params: job })).status).toBe("CANCELLED");
    }),
  );
});
