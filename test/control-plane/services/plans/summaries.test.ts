import { describe, expect, it } from "vitest";
import { planSummaryLimit } from "../../../../protocol/limits.ts";
import type { PlanSummary } from "../../../../protocol/plan-summary.ts";
import {
  deletePlanAttributes,
  findPlanSummary,
} from "../../../../control-plane/store/plans/summaries.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import { addHeldJob, ask, readJob } from "../../../helpers/plane/plane.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addJob, addSpec } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();

const summary: PlanSummary = {
  ...emptySummary,
  counts: { ...emptySummary.counts, delete: 1 },
  changes: [{ address: "aws_db_instance.main", action: "delete" }],
};

/** A worker that runs a PLAN of its owner. */
async function planning() {
  const user = await addTestUser(plane);
  const spec = await addSpec(plane.context.store, user.owner);
  const job = { spec_id: spec, started_at: 1 };
  return { ...user, spec, plan: await addHeldJob(plane, user.owner, user.worker, job) };
}

/** A DEPLOY of a plan with this summary, as its runner claims it. */
async function claimedDeploy(plan_summary: PlanSummary) {
  const { client, spec, plan: first, runner, worker } = await planning();
  await runner.call("reportStatus", { params: first, body: { status: "SUCCESS" } });
  const body = { job_type: "PLAN" as const, configuration_id: spec };
  const plan = { id: (await client.call("createJob", { body })).id };
  await runner.call("claimJob");
  await runner.call("reportStatus", { params: plan, body: { status: "PROCESSING" } });
  await ask(plane, "POST", `/api/jobs/${plan.id}/plan-artifact`, {
    headers: { ...worker.headers, "content-type": "application/gzip" },
    body: Buffer.from("plan"),
  });
  await runner.call("reportStatus", { params: plan, body: { status: "SUCCESS", plan_summary } });
  await client.call("createJob", {
    body: { job_type: "DEPLOY", configuration_id: spec, plan_job_id: plan.id },
  });
  const { job } = await runner.call("claimJob");
  return { client, spec, runner, plan, job };
}

describe("the summary of a plan", () => {
  it("is stored with the end of the PLAN and returned for a DEPLOY of it", async () => {
    const { owner, client, spec, plan, runner } = await planning();
    const params = { id: plan.id };
    expect(await client.call("getPlanSummary", { params })).toEqual({
      job_id: plan.id,
      plan_job_id: plan.id,
      plan_summary: null,
      deploy_job_id: null,
      not_deployable: { code: "invalid_plan", detail: expect.stringContaining("not ended") },
    });
    const body = { status: "SUCCESS" as const, plan_summary: summary };
    await runner.call("reportStatus", { params, body });
    await runner.call("reportStatus", { params, body });
    expect((await client.call("getPlanSummary", { params })).plan_summary).toEqual(summary);
    const deploy = await addJob(plane.context.store, owner, {
      job_type: "DEPLOY",
      spec_id: spec,
      plan_job_id: plan.id,
    });
    expect(await client.call("getPlanSummary", { params: { id: deploy.id } })).toEqual({
      job_id: deploy.id,
      plan_job_id: plan.id,
      plan_summary: summary,
      deploy_job_id: deploy.id,
      not_deployable: null,
    });
  });

  it("stays as it was reported with the SUCCESS: another one is refused, the same is not", async () => {
    const { client, plan, runner } = await planning();
    const params = { id: plan.id };
    const full: PlanSummary = {
      ...summary,
      changes: [{ ...summary.changes[0]!, attributes: [{ path: "size", before: 1, after: 2 }] }],
    };
    const report = (plan_summary: PlanSummary | null, status: "SUCCESS" | "FAILED" = "SUCCESS") =>
      ["reportStatus", { params, body: { status, plan_summary } }] as const;
    // It cannot be approved before the SUCCESS.
    await runner.call(...report(emptySummary, "FAILED"));
    await runner.call(...report(full));
    const harmless = { ...full, changes: [{ ...full.changes[0]!, attributes: [] }] };
    for (const other of [emptySummary, summary, harmless])
      for (const status of ["SUCCESS", "FAILED"] as const)
        expect(await runner.refusal(...report(other, status))).toBe("409 job_ended");
    await runner.call(...report(full));
    await runner.call(...report(null));
    expect((await client.call("getPlanSummary", { params })).plan_summary).toEqual(full);
    // Retention has removed them.
    await plane.context.store.write((tx) => deletePlanAttributes(tx, [plan.id]));
    await runner.call(...report(full));
    expect((await readJob(plane, plan)).status).toBe("SUCCESS");
  });

  it("cannot be added after a SUCCESS without one", async () => {
    const { plan, runner } = await planning();
    const params = { id: plan.id };
    await runner.call("reportStatus", { params, body: { status: "SUCCESS" } });
    const body = { status: "SUCCESS" as const, plan_summary: emptySummary };
    expect(await runner.refusal("reportStatus", { params, body })).toBe("409 job_ended");
  });

  it("has the attributes of changes and outputs and the graph for the PLAN, and keeps the names that an agent of version 0.1 sends", async () => {
    const { client, plan, runner } = await planning();
    const params = { id: plan.id };
    const changes: PlanSummary["changes"] = [
      { address: "a.old", action: "delete" },
      {
        address: "a.b",
        action: "update",
        attributes: [
          { path: "size", before: 1, after: 2 },
          { path: "list", before: ["x"], after: null },
          { path: "password", sensitive: true },
          { path: "id", unknown: true },
        ],
      },
      { address: "a.c", action: "update", attributes: ["tags", "name"] },
    ];
    const outputs: PlanSummary["outputs"] = [
      { name: "secret", action: "update", sensitive: true },
      {
        name: "plain",
        action: "update",
        sensitive: false,
        attributes: [{ path: "", before: "one", after: "two" }],
      },
    ];
    const graph = [{ address: "a.b", needs: ["a.c"] }];
    const plan_summary = { ...summary, changes, outputs, graph, truncated: true };
    await runner.call("reportStatus", { params, body: { status: "SUCCESS", plan_summary } });
    expect((await client.call("getPlanSummary", { params })).plan_summary).toEqual(plan_summary);
    const { store } = plane.context;
    const stored = await store.read.first(findPlanSummary, { job: plan.id });
    expect(stored?.plan_summary).not.toMatch(/attributes|"graph"/);
  });

  it("tells the runner of its DEPLOY what it did not know, which reports it", async () => {
    const attribute = (path: string, more: object = {}) => ({ path, unknown: true, ...more });
    const changes: PlanSummary["changes"] = [
      { address: "a.old", action: "delete", attributes: [attribute("id")] },
      { address: "a.b", action: "replace", attributes: [attribute("id"), { path: "size" }] },
      { address: "a.c", action: "create", attributes: [attribute("key", { sensitive: true })] },
      { address: "a.d", action: "update", attributes: ["tags"] },
    ];
    const checks: PlanSummary["checks"] = [
      { address: "check.a", status: "unknown" },
      { address: "check.b", status: "fail" },
    ];
    const counts = { ...summary.counts, create: 1 };
    const it = await claimedDeploy({ ...summary, counts, changes, checks });
    expect(it.job.unknown_values).toEqual({
      resources: [{ address: "a.b", paths: ["id"] }],
      checks: ["check.a", "check.b"],
    });
    expect(await it.client.call("getJob", { params: it.plan })).toMatchObject({ failed_checks: 1 });
    const made_known = {
      resources: [{ address: "a.b", attributes: [{ path: "id", after: "i-1" }] }],
      checks: [
        { address: "check.a", status: "fail" as const },
        { address: "check.b", status: "pass" as const },
        { address: "check.c", status: "error" as const },
      ],
    };
    const params = { id: it.job.id };
    await it.runner.call("reportStatus", {
      params,
      body: { status: "SUCCESS", execution_metadata: { made_known } },
    });
    const ended = await it.client.call("getJob", { params });
    expect(ended).toMatchObject({ execution_metadata: { made_known }, failed_checks: 2 });
    const found = await it.client.call("getConfiguration", { params: { name: it.spec } });
    expect(found.deployed).toMatchObject({ job_id: params.id, failed_checks: 2 });
  });

  it("asks for checks that all pass in the plan, but not of what a plan only destroys", async () => {
    const { counts } = emptySummary;
    const asked = async (more: Partial<PlanSummary>) =>
      (await claimedDeploy({ ...summary, changes: [], ...more })).job.unknown_values;
    expect(await asked({ has_checks: true, counts })).toEqual({ resources: [], checks: [] });
    expect(await asked({ has_checks: true })).toBeUndefined();
    expect(await asked({ counts })).toBeUndefined();
  });

  it("is ignored if it is malformed or too long, and the job still ends", async () => {
    const odd = { ...summary, applyable: "yes" } as unknown as PlanSummary;
    const changes = Array.from({ length: 1100 }, (_, at) => ({
      address: String(at).padEnd(1000, "x"),
      action: "create" as const,
    }));
    expect(JSON.stringify(changes).length).toBeGreaterThan(planSummaryLimit);
    for (const plan_summary of [odd, { ...summary, changes }]) {
      const { client, plan, runner } = await planning();
      const params = { id: plan.id };
      await runner.call("reportStatus", { params, body: { status: "SUCCESS", plan_summary } });
      expect(await client.call("getJob", { params })).toMatchObject({ status: "SUCCESS" });
      expect((await client.call("getPlanSummary", { params })).plan_summary).toBeNull();
    }
  });
});
