import { describe, expect } from "vitest";
import { attributes, dom, texts, words } from "../../../helpers/console/forms.ts";
import { ask, readRow, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { addArtifact, addState } from "../../../helpers/plane/rows.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane, it: base } = planeForFile();

const it = base
  .extend("user", () => openSampleUser(plane))
  .extend("configuration", ({ user }) => user.configure("network"))
  // A PLAN that has succeeded, with an artifact.
  .extend("plan", async ({ user, configuration }) => {
    const id = await user.run({ job_type: "PLAN", configuration_id: configuration }, "SUCCESS");
    await addArtifact(plane.context.store, id);
    return { id };
  })
  // A request to deploy it.
  .extend("deploy", ({ plan, configuration }) => ({
    body: { job_type: "DEPLOY" as const, configuration_id: configuration, plan_job_id: plan.id },
  }))
  // Reads what became of it.
  .extend("use", ({ user, plan: params }) => async () => {
    const { deploy_job_id, not_deployable } = await user.client.call("getPlanSummary", { params });
    return { deploy_job_id, not_deployable };
  })
  // Reads the page of a job.
  .extend("page", ({ user: { headers } }) => async ({ id }: { id: string }) => {
    return (await ask(plane, "GET", `/jobs/${id}`, { headers })).text;
  });

const offers = (page: string) => attributes(page, "form[action$='/deploy']", "action");

describe("a plan that can be deployed", () => {
  it("is offered once, and links to its deployment afterwards", async ({
    user,
    plan,
    deploy,
    use,
    page,
  }) => {
    expect(await use()).toEqual({ deploy_job_id: null, not_deployable: null });
    expect(offers(await page(plan))).toHaveLength(1);
    const deployment = await user.client.call("createJob", deploy);
    const detail = `The plan was already deployed, by the job ${deployment.id}`;
    expect(await use()).toEqual({
      deploy_job_id: deployment.id,
      not_deployable: { code: "plan_already_used", detail },
    });
    const used = await page(plan);
    expect(offers(used)).toEqual([]);
    expect(attributes(used, "a")).toContain(`/jobs/${deployment.id}`);
    expect(attributes(await page(deployment), "a")).toContain(`/jobs/${plan.id}`);
    expect(await user.client.refusal("createJob", deploy)).toBe("409 plan_already_used");
    // So does the page of a tab that was open before.
    const late = await user.post(`/jobs/${plan.id}/deploy`);
    expect([late.status, words(late)]).toEqual([409, expect.stringContaining(detail)]);
    expect(attributes(late, "a")).toContain(`/jobs/${deployment.id}`);
    await user.client.call("cancelJob", { params: { id: deployment.id } });
    expect(texts(await page(deployment), "button#retry")).toEqual(["Plan again"]);
  });
});

describe("a plan that was queued before the first deployment had ended", () => {
  it("can be deployed after it, although the state is managed from then on", async ({
    user,
    configuration,
    deploy,
    use,
  }) => {
    const version = { spec_id: configuration, blob: "", serial: 1, resources: 1 };
    await addState(plane.context.store, { ...version, created_at: 1 });
    expect(await use()).toMatchObject({ not_deployable: null });
    expect(await user.client.call("createJob", deploy)).toMatchObject({ status: "QUEUED" });
  });
});

describe("a stale plan", () => {
  it("is not offered, and its page says that the configuration has changed", async ({
    user,
    plan,
    deploy,
    configuration,
    use,
    page,
  }) => {
    const definition = '{"source":{"type":"inline","files":{"main.tf":"# changed"}}}';
    await setRows(plane, "specs", { definition }, { id: configuration });
    const detail =
      "The configuration or one of its variable sets was changed after the plan was made, so plan again";
    expect(await use()).toMatchObject({ not_deployable: { code: "plan_is_stale", detail } });
    const stale = await page(plan);
    expect(offers(stale)).toEqual([]);
    expect(stale).toContain(detail);
    const late = await user.post(`/jobs/${plan.id}/deploy`);
    expect([late.status, words(late)]).toEqual([409, expect.stringContaining(detail)]);
    expect(texts(late, `[href="/configurations/${configuration}"]`)).toContain("network");
    expect(await user.client.refusal("createJob", deploy)).toBe("409 plan_is_stale");
  });

  it("is refused if a state was stored while it ran, unless it stored that itself", async ({
    plan,
    deploy,
    configuration,
    user,
    use,
  }) => {
    const { started_at } = await readRow(plane, "jobs", { id: plan.id });
    await setRows(plane, "jobs", { ended_at: (started_at ?? 0) + 60_000 }, { id: plan.id });
    const version = { spec_id: configuration, blob: "", created_at: (started_at ?? 0) + 30_000 };
    await addState(plane.context.store, { ...version, serial: 1, job_id: plan.id });
    expect(await use()).toMatchObject({ not_deployable: null });
    await addState(plane.context.store, { ...version, serial: 2 });
    expect(await use()).toMatchObject({ not_deployable: { code: "plan_is_stale" } });
    expect(await user.client.refusal("createJob", deploy)).toBe("409 plan_is_stale");
  });

  it("is planned again with its options from its page", async ({ user, configuration, page }) => {
    const targets = ["module.a", 'module.b["x y"]'];
    const plan = await user.client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: configuration, destroy: true, targets },
    });
    await user.end(await user.start(), "SUCCESS", { plan_summary: emptySummary });
    const definition = '{"source":{"type":"inline","files":{"main.tf":"# changed"}}}';
    await setRows(plane, "specs", { definition }, { id: configuration });
    const forms = dom(await page(plan)).querySelectorAll("form");
    const form = forms.find((one) => texts(one, "button").includes("Plan again"));
    const inputs = form?.querySelectorAll("[name]") ?? [];
    const fields = inputs.map(({ attributes: { name, value } }) => [name, value]);
    const action = form?.getAttribute("action") ?? "";
    const { headers } = await user.post(action, Object.fromEntries(fields));
    const again = await user.read(String(headers["location"]).replace("/jobs/", ""));
    expect(again).toMatchObject({ job_type: "PLAN", plan_options: { destroy: true, targets } });
  });

  it("is refused if the state has changed", async ({ user, deploy, configuration, use }) => {
    const version = { spec_id: configuration, blob: "", serial: 5 };
    await addState(plane.context.store, { ...version, created_at: Date.now() + 60_000 });
    expect(await use()).toMatchObject({ not_deployable: { code: "plan_is_stale" } });
    expect(await user.client.refusal("createJob", deploy)).toBe("409 plan_is_stale");
  });
});

describe("a plan without an artifact", () => {
  it("says whether retention has removed it", async ({ plan, use }) => {
    const { context } = plane;
    await context.store.write((tx) =>
      tx.sql.deleteFrom("plan_artifacts").where("job_id", "=", plan.id).execute(),
    );
    const detail = async () => (await use()).not_deployable?.detail;
    expect(await detail()).toBe("the PLAN cannot be deployed: it has no plan artifact. Plan again");
    const ended_at = context.now() - context.retention.artifacts - 1000;
    await setRows(plane, "jobs", { ended_at }, { id: plan.id });
    expect(await detail()).toBe(
      "the PLAN cannot be deployed: retention has removed its plan artifact. Plan again",
    );
  });
});
