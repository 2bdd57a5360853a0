/** A real control plane issues the tokens, and a real OpenBao judges them. */
import { describe, expect, test } from "vitest";
import { lackOfOpenBao, startOpenBao, trustIssuer } from "../helpers/agent/open-bao.ts";
import { startTellingJobs } from "../helpers/agent/telling-jobs.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { skipAt } from "../helpers/project/tools.ts";

const { plane } = planeForFile();

describe("a job with a cloud identity at Vault", () => {
  skipAt(lackOfOpenBao);

  test("reads what its phase may read, whether its plan is its own or another job's, and has no token afterwards", async () => {
    await using machine = await userMachine(plane, { agent: true });
    await using bao = await startOpenBao();
    await using telling = await startTellingJobs();
    await trustIssuer(bao, plane.url, "1h");
    const { user } = machine;
    const identity = await user.client.call("createCloudIdentity", {
      body: {
        name: "secrets",
        provider: "vault",
        address: bao.url,
        role: "apply",
        plan_role: "plan",
      },
    });
    const configuration_id = await user.configure({
      source: telling.source(telling.readSecrets("plan"), telling.readSecrets("apply")),
      cloud_identity_id: identity.id,
    });
    const run = async (fields: object) => {
      const job = await user.queue({ configuration_id, ...fields } as never);
      expect(await user.released(job)).toMatchObject({ status: "SUCCESS" });
      expect(await user.log(job, "SYSTEM")).toContain(`of Vault at ${bao.url}`);
      return job;
    };
    const plan = await run({ job_type: "PLAN" });
    await run({ job_type: "DEPLOY", plan_job_id: plan.id });
    await run({ job_type: "DESTROY" });
    await run({ job_type: "DEPLOY" });
    const [plans, applies] = ["plan", "apply"].map((phase) =>
      telling.toldOf(phase).map((told) => told.split(" ").slice(1)),
    );
    // The DESTROY reads the data source too, and its apply runs no provisioner.
    expect(plans!.map((told) => told.slice(0, 3))).toEqual(
      Array.from({ length: plans!.length }, () => ["200", "403", "600"]),
    );
    expect(plans!.length).toBeGreaterThanOrEqual(2);
    expect(applies!.map((told) => told.slice(0, 3))).toEqual([
      ["403", "200", "600"],
      ["403", "200", "600"],
    ]);
    for (const [, , , token = ""] of [...plans!, ...applies!]) {
      expect(token).not.toBe("");
      expect(await bao.knows(token)).toBe(false);
    }
  });

  test("fails with what Vault said when its role does not trust the subject", async () => {
    await using machine = await userMachine(plane, { agent: true });
    await using bao = await startOpenBao();
    await trustIssuer(bao, plane.url, "1h");
    const { user } = machine;
    const identity = await user.client.call("createCloudIdentity", {
      body: { name: "wrong", provider: "vault", address: bao.url, role: "apply" },
    });
    const configuration_id = await user.configure({
      source: { type: "inline", files: { "main.tf": "" } },
      cloud_identity_id: identity.id,
    });
    const job = await user.queue({ job_type: "PLAN", configuration_id });
    const end = await user.released(job);
    expect(end.status).toBe("FAILED");
    expect(end.error_message).toMatch(
      /^credentials: Vault refused the token for the role apply of Vault at \S+, mount jwt \(subject .+:phase:plan, audience /,
    );
  });
});
