import { randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import type { CreateConfiguration } from "../../../../protocol/configurations.ts";
import type { CreateJob } from "../../../../protocol/jobs.ts";
import type { ReportStatus } from "../../../../protocol/executions.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addArtifact } from "../../../helpers/plane/rows.ts";

const { plane, it: base } = planeForFile();

type Values = Pick<CreateConfiguration, "variables" | "environment">;
const secret = (value: unknown) => ({ value, sensitive: true });

const it = base
  .extend("configure", ({ client, owner }) => (body: Partial<CreateConfiguration>) => {
    const source = { type: "inline" as const, files: { "main.tf": "" } };
    const name = randomBytes(4).toString("hex");
    return client.call("createConfiguration", {
      body: { name, zone_id: owner.zone, source, ...body },
    });
  })
  // Sets the values of the configuration.
  .extend("change", ({ client }) => (name: string, body: Values) => {
    return client.call("updateConfiguration", { params: { name }, body });
  })
  // Queues a job, claims it, and reports its start and its end; returns it as it was claimed.
  .extend(
    "run",
    ({ client, runner }) =>
      async (
        configuration_id: string,
        job_type: CreateJob["job_type"],
        how: {
          readonly end?: ReportStatus["status"] | undefined;
          readonly report?: Partial<ReportStatus>;
          readonly job?: Partial<CreateJob>;
        } = {},
      ) => {
        await runner.call("heartbeat", { body: { version: "1.0.0", features: ["plan_options"] } });
        await client.call("createJob", { body: { job_type, configuration_id, ...how.job } });
        const { job } = await runner.call("claimJob");
        for (const status of ["PROCESSING", how.end ?? "SUCCESS"] as const)
          await runner.call("reportStatus", { params: job, body: { status, ...how.report } });
        return job;
      },
  );

describe("the former secrets of a claimed job", () => {
  it("are the texts of its deployment", async ({ client, configure, change, run }) => {
    const { id } = await configure({
      variables: {
        password: secret("old-password"),
        map: secret({ changed: "old-entry", kept: "same-entry", pin: 1234567 }),
        plain: { value: "first-plain" },
      },
      environment: { API_TOKEN: "old-token", PLAIN: "first-environment" },
    });
    const set = await client.call("createVariableSet", {
      body: {
        name: "set",
        variables: { shared: secret("old-shared") },
        configuration_ids: [id],
      },
    });
    expect(await run(id, "DEPLOY")).not.toHaveProperty("former_secrets");
    expect(await run(id, "PLAN")).not.toHaveProperty("former_secrets");
    await change(id, {
      variables: {
        password: secret("new-password"),
        map: secret({ changed: "new-entry", kept: "same-entry" }),
        plain: { value: "new-plain" },
      },
      environment: { API_TOKEN: "new-token", PLAIN: "new-environment" },
    });
    await client.call("updateVariableSet", {
      params: { id: set.id },
      body: { variables: { shared: secret("new-shared") } },
    });
    const planned = await run(id, "PLAN");
    expect(planned.former_secrets?.toSorted()).toEqual([
      "1234567",
      "old-entry",
      "old-password",
      "old-shared",
      "old-token",
    ]);
    const shown = [await client.call("getJob", { params: planned }), await client.call("listJobs")];
    expect(JSON.stringify(shown)).not.toContain("old-");
    expect((await run(id, "DEPLOY")).former_secrets).toHaveLength(5);
    expect(await run(id, "PLAN")).not.toHaveProperty("former_secrets");
  });

  it("are there after the sensitive variable was removed, until a deployment", async ({
    configure,
    change,
    run,
  }) => {
    const { id } = await configure({ variables: { password: secret("old-password") } });
    await run(id, "DEPLOY", { report: { backend: "own" } });
    await change(id, { variables: {} });
    expect((await run(id, "PLAN")).former_secrets).toEqual(["old-password"]);
    await run(id, "DEPLOY", { report: { backend: "own" } });
    expect(await run(id, "PLAN")).not.toHaveProperty("former_secrets");
  });

  it("are those of the environment too, if nothing else is sensitive", async ({
    configure,
    change,
    run,
  }) => {
    const { id } = await configure({ environment: { API_TOKEN: "old-token" } });
    await run(id, "DEPLOY");
    await change(id, { environment: { API_TOKEN: "new-token" } });
    expect((await run(id, "PLAN")).former_secrets).toEqual(["old-token"]);
  });

  it("do not contain what the configuration now shows", async ({ configure, change, run }) => {
    const { id } = await configure({ variables: { region: secret("eu-central-1") } });
    await run(id, "DEPLOY");
    await change(id, {
      variables: { area: { value: { of: "eu-central-1" } }, other: secret("x") },
    });
    expect(await run(id, "PLAN")).not.toHaveProperty("former_secrets");
  });

  it("are those of each deployment since the last one that succeeded as a whole", async ({
    client,
    configure,
    change,
    run,
  }) => {
    const { id } = await configure({});
    const set = (value: string) => change(id, { variables: { password: secret(value) } });
    const former = async () => (await run(id, "PLAN")).former_secrets;
    const deploy = (end?: ReportStatus["status"], job?: Partial<CreateJob>) =>
      run(id, "DEPLOY", { end, ...(job ? { job } : {}) });
    await set("replaced");
    await deploy();
    await set("deployed");
    await deploy();
    await set("failed");
    await deploy("FAILED");
    // A DEPLOY that was cancelled before it started has changed nothing.
    await set("not-started");
    const waiting = await client.call("createJob", {
      body: { job_type: "DEPLOY", configuration_id: id },
    });
    await client.ask("cancelJob", { params: waiting });
    await set("only-planned");
    await run(id, "PLAN");
    await set("targeted");
    const options = { targets: ["terraform_data.a"] };
    const plan = await run(id, "PLAN", { job: options });
    await addArtifact(plane.context.store, plan.id);
    await deploy("SUCCESS", { plan_job_id: plan.id });
    await set("now");
    expect(await former()).toEqual(["deployed", "failed", "targeted"]);
    await deploy();
    expect(await former()).toBeUndefined();
  });

  it("have at most 1 MiB together", async ({ configure, change, run }) => {
    const large = secret("x".repeat(1_000_000));
    const { id } = await configure({
      variables: { a: large, b: secret("y".repeat(100_000)), c: secret("old-password") },
    });
    await run(id, "DEPLOY");
    await change(id, { variables: { c: secret("new-password") } });
    const { former_secrets = [] } = await run(id, "PLAN");
    expect(former_secrets).toEqual([large.value, "old-password"]);
  });

  it("are at most 10,000, without those that no key opens", async ({ configure, change, run }) => {
    const { id } = await configure({
      variables: {
        damaged: secret("old-password"),
        many: secret(Array.from({ length: 10_002 }, (_, n) => n)),
      },
    });
    const { id: job_id } = await run(id, "DEPLOY");
    await plane.context.store.write(async (tx) => {
      const row = await tx.sql
        .selectFrom("definitions")
        .selectAll()
        .where("about", "=", job_id)
        .executeTakeFirstOrThrow();
      const snapshot = JSON.parse(row.content) as {
        variables: Record<string, { sealed: string }>;
      };
      snapshot.variables["damaged"]!.sealed = "AAAA";
      await tx.sql
        .updateTable("definitions")
        .set({ content: JSON.stringify(snapshot) })
        .where("about", "=", job_id)
        .execute();
    });
    // A DEPLOY that its runner has refused does not displace what was deployed.
    const tooMany = Array.from({ length: 19_000 }, (_, n) => -1 - n);
    await change(id, { variables: { damaged: secret("newer"), a: secret(tooMany) } });
    await run(id, "DEPLOY", { end: "FAILED" });
    await change(id, { variables: { damaged: secret("new-password") } });
    const { former_secrets = [] } = await run(id, "PLAN");
    expect(former_secrets).toHaveLength(10_000);
    expect(former_secrets).not.toContain("old-password");
    expect(former_secrets).toContain("9999");
  });
});
