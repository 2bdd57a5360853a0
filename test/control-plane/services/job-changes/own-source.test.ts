import { gzipSync } from "node:zlib";
import { describe, expect, vi } from "vitest";
import type { Source } from "../../../../protocol/configurations.ts";
import type { Calls } from "../../../helpers/plane/calls.ts";
import { ask, clientHeaders, readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addArtifact } from "../../../helpers/plane/rows.ts";

const { plane, it: base } = planeForFile();

const inline = (text: string) => ({ type: "inline" as const, files: { "main.tf": text } });
const ofConfiguration = inline("");
const other = inline("# another directory");

const it = base
  .extend("sourceNow", ({ client, spec }) => async () => {
    const { source } = await client.call("getConfiguration", { params: { name: spec } });
    return source;
  })
  // Plans a source, as far as a plan that can be deployed.
  .extend("planned", ({ client, runner, spec }) => async (source?: Source) => {
    const body = { job_type: "PLAN" as const, configuration_id: spec, ...(source && { source }) };
    const plan = await client.call("createJob", { body });
    await run(runner, plan.id);
    await addArtifact(plane.context.store, plan.id);
    return plan;
  })
  .extend("deploy", ({ spec }) => (plan_job_id: string) => ({
    body: { job_type: "DEPLOY" as const, configuration_id: spec, plan_job_id },
  }));

/** Claims the job, which must be the next one, and lets it succeed. */
async function run(runner: Calls, id: string): Promise<unknown> {
  const { job } = await runner.call("claimJob");
  expect(job.id).toBe(id);
  for (const status of ["PROCESSING", "SUCCESS"] as const)
    await runner.call("reportStatus", { params: { id }, body: { status } });
  return job.config_snapshot.source;
}

describe("a plan of another source", () => {
  it("leaves the configuration's source until a deployment of it starts", async ({
    client,
    runner,
    sourceNow,
    planned,
    deploy,
  }) => {
    const plan = await planned(other);
    expect(plan).toMatchObject({ own_source: true, config_snapshot: { source: other } });
    expect(plan.config_snapshot).not.toHaveProperty("own_source");
    expect(await sourceNow()).toEqual(ofConfiguration);
    const cancelled = await client.call("createJob", deploy(plan.id));
    await client.call("cancelJob", { params: cancelled });
    expect(await sourceNow()).toEqual(ofConfiguration);
    const applied = await client.call("createJob", deploy(plan.id));
    expect(applied).toMatchObject({ own_source: true, config_snapshot: { source: other } });
    expect(applied.config_hash).toBe(plan.config_hash);
    expect(await sourceNow()).toEqual(ofConfiguration);
    expect(await run(runner, applied.id)).toEqual(other);
    expect(await sourceNow()).toEqual(other);
    const audit = await client.call("listAuditEntries");
    expect(audit.audit_entries).toContainEqual(
      expect.objectContaining({
        action: "configuration.update",
        details: { fields: ["source"], job_id: applied.id },
      }),
    );
    // A plan of what is the configuration's source by now is an ordinary one.
    expect(await planned()).toMatchObject({ own_source: false, config_hash: plan.config_hash });
  });

  it("is taken over by a large configuration before the transaction of the start", async ({
    client,
    runner,
    spec,
    planned,
    deploy,
  }) => {
    const large = { value: "s".repeat(200_000), sensitive: true };
    const params = { name: spec };
    await client.call("updateConfiguration", { params, body: { variables: { large } } });
    const plan = await planned(other);
    const { id } = await client.call("createJob", deploy(plan.id));
    const { store } = plane.context;
    const ahead = vi.spyOn(store, "ahead");
    try {
      expect(await run(runner, id)).toEqual(other);
      expect(ahead).toHaveBeenCalled();
    } finally {
      ahead.mockRestore();
    }
    expect(await client.call("getConfiguration", { params })).toMatchObject({ source: other });
    await client.call("createJob", { body: { job_type: "PLAN", configuration_id: spec } });
    const { job } = await runner.call("claimJob");
    expect(job.config_snapshot).toMatchObject({ source: other, variables: { large } });
    const definitions = await readRows(plane, "definitions", { about: spec });
    expect(definitions).toHaveLength(1);
    const { definition } = await readRow(plane, "specs", { id: spec });
    expect(definition).toContain(definitions[0]!.id);
  });

  it("is stale after a change of anything but the source", async ({
    client,
    planned,
    deploy,
    spec,
  }) => {
    const [own, ordinary] = [await planned(other), await planned()];
    const set = (definition: object) =>
      setRows(plane, "specs", { definition: JSON.stringify(definition) }, { id: spec });
    await set({ source: inline("# a third one") });
    expect(await client.refusal("createJob", deploy(ordinary.id))).toBe("409 plan_is_stale");
    const deployed = await client.call("createJob", deploy(own.id));
    await client.call("cancelJob", { params: deployed });
    await set({ source: ofConfiguration, variables: { size: { value: 3 } } });
    expect(await client.refusal("createJob", deploy(own.id))).toBe("409 plan_is_stale");
  });

  it("has its own place and variable files", async ({ client, runner, deploy, spec }) => {
    const body = { version: "1.0.0", features: ["var_files"] };
    await runner.call("heartbeat", { body });
    const files = { source: other, working_directory: "live", var_files: ["prod.tfvars"] };
    const planOf = async (more: object) => {
      const body = { job_type: "PLAN" as const, configuration_id: spec, ...more };
      const plan = await client.call("createJob", { body });
      await run(runner, plan.id);
      await addArtifact(plane.context.store, plan.id);
      return plan;
    };
    const now = async () => client.call("getConfiguration", { params: { name: spec } });
    const before = await now();
    const plan = await planOf(files);
    expect(plan.config_snapshot).toMatchObject(files);
    expect(plan.config_snapshot).not.toHaveProperty("own_fields");
    expect(await now()).toEqual(before);
    const applied = await client.call("createJob", deploy(plan.id));
    expect(applied.config_snapshot).toMatchObject(files);
    await run(runner, applied.id);
    expect(await now()).toMatchObject(files);
    const audit = await client.call("listAuditEntries");
    expect(audit.audit_entries).toContainEqual(
      expect.objectContaining({
        action: "configuration.update",
        details: { fields: ["source", "working_directory", "var_files"], job_id: applied.id },
      }),
    );
    // What a plan does not name itself is the configuration's, and a change of that makes it stale.
    const [partial, without] = [
      await planOf({ source: ofConfiguration, working_directory: "" }),
      await planOf({ source: ofConfiguration, var_files: [] }),
    ];
    expect(partial.config_snapshot).toMatchObject({ var_files: ["prod.tfvars"] });
    expect(without.config_snapshot).not.toHaveProperty("var_files");
    const change = { params: { name: spec }, body: { var_files: ["other.tfvars"] } };
    await client.call("updateConfiguration", change);
    expect(await client.refusal("createJob", deploy(partial.id))).toBe("409 plan_is_stale");
    const last = await client.call("createJob", deploy(without.id));
    await run(runner, last.id);
    expect(await now()).not.toHaveProperty("var_files");
  });

  it("is planned again from the same source by a retry", async ({ client, spec }) => {
    const files = { source: other, working_directory: "live", var_files: ["prod.tfvars"] };
    const body = { job_type: "PLAN" as const, configuration_id: spec, ...files };
    const first = await client.call("createJob", { body });
    await client.call("cancelJob", { params: first });
    expect(await client.call("retryJob", { params: first })).toMatchObject({
      own_source: true,
      config_snapshot: files,
    });
  });

  it("is refused if it is invalid, missing, or not for a PLAN", async ({ client, spec }) => {
    const refusal = (source: object, job_type = "PLAN") =>
      client.refusal("createJob", { body: { job_type, configuration_id: spec, source } as never });
    const archive = { type: "archive", sha256: "a".repeat(64) };
    expect(await refusal(other, "DEPLOY")).toBe("400 invalid_request");
    expect(await refusal(other, "DESTROY")).toBe("400 invalid_request");
    expect(await refusal(archive)).toBe("400 invalid_request");
    expect(await refusal({ type: "git", url: "not a url" })).toBe("400 invalid_request");
    expect(await refusal(inline("x".repeat(1024 * 1024)))).toBe("400 invalid_request");
    const named = { job_type: "PLAN" as const, configuration_id: spec, var_files: ["a.tfvars"] };
    expect(await client.refusal("createJob", { body: named })).toBe("400 invalid_request");
  });

  it("cannot be deployed after its uploaded files were removed", async ({
    client,
    owner,
    planned,
    deploy,
  }) => {
    const headers = await clientHeaders(plane, owner);
    const uploaded = await ask(plane, "POST", "/api/cli/archives", {
      headers,
      body: gzipSync("files"),
    });
    const { sha256 } = uploaded.json() as { sha256: string };
    const plan = await planned({ type: "archive", sha256 });
    await plane.context.store.write((tx) =>
      tx.sql.deleteFrom("archives").where("owner_id", "=", owner.id).execute(),
    );
    expect(await client.refusal("createJob", deploy(plan.id))).toBe("400 invalid_plan");
  });
});
