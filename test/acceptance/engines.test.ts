/**
 * Jobs with both engines. OpenTofu is not installed here, so `tofu` is a script that runs
 * terraform. The test shows that the agent treats both engines alike, not that OpenTofu behaves
 * like terraform.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { fixtureFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { bothEngines, testEngines } from "../helpers/agent/terraform.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();
let machine: UserMachine;
beforeAll(async () => {
  machine = await userMachine(plane, { agent: bothEngines });
});
afterAll(() => machine[Symbol.asyncDispose]());

test.concurrent.each(testEngines)(
  "jobs with %s have a plan summary and typed outputs, and a plan without changes succeeds",
  async (engine) => {
    const { user } = machine;
    const source = { type: "inline", files: fixtureFiles("success-cluster") };
    const configuration_id = await user.configure({ source, engine });
    const plan = await user.queue({ job_type: "PLAN", configuration_id });
    expect(await user.released(plan)).toMatchObject({ status: "SUCCESS", error_message: null });
    const { plan_summary: made } = await user.client.call("getPlanSummary", { params: plan });
    expect(made?.counts).toMatchObject({ create: 3, update: 0, delete: 0 });
    expect(made?.outputs).toContainEqual(
      expect.objectContaining({ name: "kubeconfig_token", action: "create", sensitive: true }),
    );

    const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, plan_job_id: plan.id });
    const { status, execution_metadata } = await user.released(deploy);
    expect(status).toBe("SUCCESS");
    expect(execution_metadata).toMatchObject({
      cluster_name: "demo",
      cluster_endpoint: "https://demo.eu-central-1.eks.example.test",
      outputs: {
        cluster_name: { type: "string", sensitive: false, value: "demo" },
        subnets: {
          type: ["object", { a: "string", b: "string" }],
          sensitive: false,
          value: { a: "demo-a", b: "demo-b" },
        },
      },
    });
    const outputs = execution_metadata?.["outputs"] as Record<string, object>;
    expect(outputs["kubeconfig_token"]).toEqual({ type: "string", sensitive: true });

    // With -detailed-exitcode this plan ends with 0 and the first one with 2: both are a success.
    const again = await user.queue({ job_type: "PLAN", configuration_id });
    expect(await user.released(again)).toMatchObject({ status: "SUCCESS", error_message: null });
    const { plan_summary: idle } = await user.client.call("getPlanSummary", { params: again });
    expect(idle?.counts).toMatchObject({ create: 0, update: 0, delete: 0, replace: 0 });
    expect(await user.log(again)).toContain("No changes");
  },
);
