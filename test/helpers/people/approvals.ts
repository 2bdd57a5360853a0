/** Deployments under an approval rule, for tests of single routes. */
import type { ApprovalRule } from "../../../protocol/approvals.ts";
import type { Job } from "../../../protocol/jobs.ts";
import type { PlanCounts } from "../../../protocol/plan-counts.ts";
import type { Calls } from "../plane/calls.ts";
import { addArtifact, addOwner } from "../plane/rows.ts";
import { emptySummary } from "../plane/plan-summaries.ts";
import { setRows, type Plane } from "../plane/plane.ts";

/** What one owner, their client and their runner do with one configuration. */
export function approvalSteps(plane: Plane, client: Calls, runner: Calls, spec: string) {
  return {
    /** Sets the rule; null removes it. */
    rule: (approval: Partial<ApprovalRule> | null) =>
      client.call("updateConfiguration", {
        params: { name: spec },
        body: { approval: approval && { when: "always", ...approval } },
      }),
    /** Makes a plan; null: its runner reports no summary. */
    async plan(counts: Partial<PlanCounts> | null = { create: 1 }): Promise<Job> {
      const plan = await client.call("createJob", {
        body: { job_type: "PLAN", configuration_id: spec },
      });
      const { job } = await runner.call("claimJob");
      await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
      const summary = counts && {
        ...emptySummary,
        counts: { ...emptySummary.counts, ...counts },
      };
      await runner.call("reportStatus", {
        params: job,
        body: { status: "SUCCESS", ...(summary ? { plan_summary: summary } : {}) },
      });
      await addArtifact(plane.context.store, plan.id);
      return plan;
    },
    /** Queues the DEPLOY of a plan. */
    deploy: ({ id }: Pick<Job, "id">): Promise<Job> =>
      client.call("createJob", {
        body: { job_type: "DEPLOY", configuration_id: spec, plan_job_id: id },
      }),
    approve: ({ id }: Pick<Job, "id">, comment: string | null = null): Promise<Job> =>
      client.call("decideJob", { params: { id }, body: { decision: "approve", comment } }),
    reject: ({ id }: Pick<Job, "id">, comment: string | null = null): Promise<Job> =>
      client.call("decideJob", { params: { id }, body: { decision: "reject", comment } }),
    /** Claims the next job; undefined if there is none. */
    claim: async (): Promise<string | undefined> => (await runner.ask("claimJob"))?.job.id,
    /** Makes a job as if another person had created it; returns that person's address. */
    async createdByAnother({ id }: Pick<Job, "id">): Promise<string> {
      const { id: creator_id } = await addOwner(plane.context.store);
      await setRows(plane, "jobs", { creator_id }, { id });
      return `${creator_id}@example.com`;
    },
  };
}
export type ApprovalSteps = ReturnType<typeof approvalSteps>;
