/**
 * Decisions, claims and changes that come at the same time, at one control plane or at two: whatever
 * their order, each round has one honest outcome.
 */
import { describe, expect, test } from "vitest";
import type { Job } from "../../../../protocol/jobs.ts";
import { approvalSteps, type ApprovalSteps } from "../../../helpers/people/approvals.ts";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { addTestWorker, clientHeaders } from "../../../helpers/plane/plane.ts";
import { patience, repeat, type Planes } from "../../../helpers/plane/races.ts";
import { addOwner, addSpec, addState } from "../../../helpers/plane/rows.ts";
import {
  addMember,
  addTeam,
  addTeamSpec,
  callsWithin,
  join,
} from "../../../helpers/people/teams.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

interface Stage {
  readonly spec: string;
  readonly client: Calls;
  readonly steps: ApprovalSteps;
  /** Those of the other control plane. */
  readonly beside: ApprovalSteps;
  readonly clientBeside: Calls;
}

async function newStage({ first, second }: Planes): Promise<Stage> {
  const owner = await addOwner(first.context.store);
  const spec = await addSpec(first.context.store, owner);
  const headers = await clientHeaders(first, owner);
  const worker = await addTestWorker(first, owner);
  const [client, clientBeside] = [callsOf(first, headers), callsOf(second, headers)];
  const stepsOf = (plane: Planes["second"], calls: Calls) =>
    approvalSteps(first, calls, callsOf(plane, worker.headers), spec);
  const [steps, beside] = [stepsOf(first, client), stepsOf(second, clientBeside)];
  return { spec, client, clientBeside, steps, beside };
}

/** Ends a job that is still open, so that the next round begins without it. */
async function clear({ client }: Stage, job: Job): Promise<void> {
  await client.refusal("cancelJob", { params: job });
}

/** Defines the races. */
export function approvalRaces(find: () => Planes): void {
  const race = async (body: (stage: Stage) => Promise<void>): Promise<void> => {
    const stage = await newStage(find());
    await repeat(() => body(stage));
  };

  describe("at the same time", () => {
    test("two approvals of one person count once", { timeout: patience }, () =>
      race(async (stage) => {
        const { client, steps, beside } = stage;
        await steps.rule({ count: 2, by_author: true });
        const job = await steps.deploy(await steps.plan());
        const [, , claimed] = await Promise.all([
          steps.approve(job),
          beside.approve(job),
          beside.claim(),
        ]);
        expect(claimed).toBeUndefined();
        const found = await client.call("getJob", { params: job });
        expect(found.approvals).toHaveLength(1);
        expect(found.waiting_reason).toBe("waits for 1 approval by a deployer");
        await clear(stage, job);
      }),
    );

    test(
      "two approvals of two people give the job to one waiting claim",
      { timeout: patience },
      async () => {
        const { first, second } = find();
        const admin = await addTestUser(first);
        const { slug, calls } = await addTeam(first, admin);
        const { spec, worker, runner } = await addTeamSpec(first, slug);
        const [one, other] = [
          await addMember(first, admin, slug, "deployer"),
          await addMember(first, admin, slug, "admin"),
        ];
        const steps = approvalSteps(first, calls, runner, spec);
        const within = callsWithin(second, other.headers, slug);
        await steps.rule({ count: 2 });
        await repeat(async () => {
          const job = await steps.deploy(await steps.plan());
          const claim = callsOf(second, worker.headers).call("claimJob", { query: { wait: 30 } });
          await Promise.all(
            [one.calls, within].map((voter) =>
              approvalSteps(first, voter, runner, spec).approve(job),
            ),
          );
          expect((await claim).job.id).toBe(job.id);
          await calls.call("cancelJob", { params: job });
        });
      },
    );

    test(
      "a member who is removed or demoted while approving has no vote",
      { timeout: patience },
      async () => {
        const { first, second } = find();
        const admin = await addTestUser(first);
        const { slug, calls } = await addTeam(first, admin);
        const { spec, runner } = await addTeamSpec(first, slug);
        const steps = approvalSteps(first, calls, runner, spec);
        await steps.rule({});
        const member = await addTestUser(first);
        const params = { slug, user_id: member.owner.id };
        const within = callsWithin(second, member.headers, slug);
        await repeat(async (round) => {
          await join(first, admin, slug, member, "deployer");
          const job = await steps.deploy(await steps.plan());
          const [refusal] = await Promise.all([
            within.refusal("decideJob", { params: job, body: { decision: "approve" } }),
            round % 2 === 0
              ? admin.client.call("removeMember", { params })
              : admin.client.call("updateMember", { params, body: { role: "viewer" } }),
          ]);
          expect([
            "not refused",
            "403 permission_denied",
            "404 not_found",
            "404 team_not_found",
          ]).toContain(refusal);
          expect(await steps.claim()).toBeUndefined();
          if (round % 2 !== 0) await admin.client.call("removeMember", { params });
          await calls.call("cancelJob", { params: job });
        });
      },
    );

    test("of an approval and a rejection the rejection wins", { timeout: patience }, () =>
      race(async (stage) => {
        const { client, steps, beside } = stage;
        await steps.rule({ by_author: true });
        const job = await steps.deploy(await steps.plan());
        const [approved, rejected] = await Promise.allSettled([
          beside.approve(job),
          steps.reject(job, "no"),
        ]);
        // The approval came first, or found the job cancelled.
        expect(rejected.status).toBe("fulfilled");
        if (approved.status === "rejected")
          expect(approved.reason).toMatchObject({ code: "job_ended" });
        expect(await client.call("getJob", { params: job })).toMatchObject({
          status: "CANCELLED",
          approvals: [{ decision: "reject" }],
        });
        expect(await steps.claim()).toBeUndefined();
      }),
    );

    test("a rejection and a claim end with a cancelled job", { timeout: patience }, () =>
      race(async (stage) => {
        const { client, steps, beside } = stage;
        await steps.rule({ by_author: true });
        const job = await steps.deploy(await steps.plan());
        await steps.approve(job);
        const [claimed] = await Promise.all([beside.claim(), steps.reject(job, "no")]);
        expect([undefined, job.id]).toContain(claimed);
        // A claimed job has not started yet, so its runner is refused.
        expect((await client.call("getJob", { params: job })).status).toBe("CANCELLED");
      }),
    );

    test("a new rule and a claim: the job is claimed or it waits", { timeout: patience }, () =>
      race(async (stage) => {
        const { client, steps, beside } = stage;
        await steps.rule(null);
        const job = await steps.deploy(await steps.plan());
        const [claimed] = await Promise.all([beside.claim(), steps.rule({})]);
        const { status, waiting_reason } = await client.call("getJob", { params: job });
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
        const { client, steps, beside } = stage;
        await steps.rule({ by_author: true });
        const job = await steps.deploy(await steps.plan());
        const [claimed] = await Promise.all([
          beside.claim(),
          beside.approve(job),
          steps.rule({ count: 2, by_author: true }),
        ]);
        const { status, waiting_reason } = await client.call("getJob", { params: job });
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
          const { client, spec, steps, beside } = stage;
          await steps.rule({ by_author: true });
          const job = await steps.deploy(await steps.plan());
          await steps.approve(job);
          const value = job.id;
          const [claimed] = await Promise.all([
            beside.claim(),
            client.call("updateConfiguration", {
              params: { name: spec },
              body: { variables: { a: { value } } },
            }),
          ]);
          const { status, error_message } = await client.call("getJob", { params: job });
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
        const planes = find();
        const { store } = planes.first.context;
        await repeat(async () => {
          const { client, spec, steps, beside } = await newStage(planes);
          await steps.rule({ by_author: true });
          const job = await steps.deploy(await steps.plan());
          const state = { spec_id: spec, blob: spec, created_at: Date.now() + 1000 };
          await Promise.all([beside.approve(job), addState(store, state)]);
          expect(await beside.claim()).toBeUndefined();
          expect((await client.call("getJob", { params: job })).status).toBe("FAILED");
        });
      },
    );

    test("approvals of a job that is cancelled are refused or undone", { timeout: patience }, () =>
      race(async (stage) => {
        const { client, clientBeside, steps } = stage;
        await steps.rule({ by_author: true });
        const job = await steps.deploy(await steps.plan());
        const [refusal] = await Promise.all([
          clientBeside.refusal("decideJob", { params: job, body: { decision: "approve" } }),
          client.call("cancelJob", { params: job }),
        ]);
        expect(["409 job_ended", "not refused"]).toContain(refusal);
        expect(await steps.claim()).toBeUndefined();
        expect((await client.call("getJob", { params: job })).status).toBe("CANCELLED");
      }),
    );
  });
}
