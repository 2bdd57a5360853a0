import { describe, expect } from "vitest";
import { system } from "../../../../control-plane/services/audit/audit.ts";
import { writeJobs } from "../../../../control-plane/services/job-changes/changes.ts";
import { loseJob } from "../../../../control-plane/services/job-changes/outcomes.ts";
import { findJob } from "../../../../control-plane/store/jobs/jobs.ts";
import type { JobType } from "../../../../protocol/jobs.ts";
import type { ReportStatus } from "../../../../protocol/executions.ts";
import { statusWords } from "../../../../protocol/words.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addState } from "../../../helpers/plane/rows.ts";

const { plane, it: base } = planeForFile();

const it = base
  // Reads the configuration.
  .extend(
    "read",
    ({ client, spec }) =>
      () =>
        client.call("getConfiguration", { params: { name: spec } }),
  )
  // Starts a job of the configuration. Returns its path parameters.
  .extend("start", ({ client, runner, spec }) => async (job_type: JobType) => {
    const { id } = await client.call("createJob", { body: { job_type, configuration_id: spec } });
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: { id }, body: { status: "PROCESSING" } });
    return { id };
  })
  // Runs a job of the configuration to this end.
  .extend("run", ({ runner, start }) => async (job_type: JobType, body: ReportStatus) => {
    const params = await start(job_type);
    await runner.call("reportStatus", { params, body });
    return params;
  })
  // Adds a version of the state.
  .extend(
    "write",
    ({ spec }) =>
      (serial: number, resources: number | null, job_id: string | null) =>
        addState(plane.context.store, {
          spec_id: spec,
          blob: "",
          serial,
          resource_count: resources,
          job_id,
        }),
  );

const success = { status: "SUCCESS" } as const;
const failure = (error_message: string) => ({ status: "FAILED", error_message }) as const;

describe("where the state is", () => {
  it("follows the last deployment, the state left, else is open", async ({ run, read, write }) => {
    expect(await read()).toMatchObject({ state_backend: null });
    await run("DEPLOY", { ...success, backend: "own" });
    expect(await read()).toMatchObject({ state_backend: "own" });
    await run("DESTROY", success);
    expect(await read()).toMatchObject({ state_backend: null });
    const { id } = await run("DEPLOY", { ...success, backend: "managed" });
    await write(1, 1, id);
    expect(await read()).toMatchObject({ state_backend: "managed" });
    await write(2, 0, (await run("DESTROY", success)).id);
    expect(await read()).toMatchObject({ state_backend: "managed", status: "DESTROYED" });
  });
});

it("is nothing after a destruction that left a state that the server cannot read", async ({
  run,
  start,
  read,
  write,
  client,
  runner,
  spec,
}) => {
  await write(1, null, (await run("DEPLOY", success)).id);
  expect(await read()).toMatchObject({ status: "DEPLOYED", deployed: { resources: null } });
  const params = await start("DESTROY");
  await write(2, null, params.id);
  await runner.call("reportStatus", { params, body: failure("destroy: no such region") });
  const refused = client.refusal("deleteConfiguration", { params: { name: spec } });
  expect(await refused).toBe("409 configuration_not_empty");
  const again = await start("DESTROY");
  await write(3, null, again.id);
  await runner.call("reportStatus", { params: again, body: success });
  expect(await read()).toMatchObject({ status: "DESTROYED", deployed: null });
  const { state_versions } = await client.call("listStateVersions", {
    params: { name: spec },
    query: {},
  });
  expect(state_versions.map(({ resources }) => resources)).toEqual([0, null, null]);
});

describe("a PLAN's success after a failure", () => {
  it("restores NEW, DEPLOYED or DESTROYED, as it was before", async ({ run, read }) => {
    for (const [job_type, status] of [
      ["PLAN", "NEW"],
      ["DEPLOY", "DEPLOYED"],
      ["DESTROY", "DESTROYED"],
    ] as const) {
      await run(job_type, success);
      await run("PLAN", failure("Error: typo"));
      expect(await read()).toMatchObject({ status: "FAILED", error_message: "Error: typo" });
      await run("PLAN", success);
      expect(await read()).toMatchObject({ status, error_message: null });
    }
  });

  it("leaves no half-made first deployment NEW", async ({ start, run, read, write, runner }) => {
    const params = await start("DEPLOY");
    await write(1, 4, params.id);
    await runner.call("reportStatus", { params, body: failure("apply: no such region") });
    expect(await read()).toMatchObject({ status: "FAILED", deployed: { resources: 4 } });
    await run("PLAN", success);
    expect(await read()).toMatchObject({ status: "DEPLOYED", deployed: { resources: 4 } });
  });
});

describe("the job whose failure is unresolved", () => {
  it("is a failed apply until an apply or a destruction succeeds, whatever PLANs do", async ({
    run,
    read,
    client,
  }) => {
    const { id } = await run("DEPLOY", failure("Error: half done"));
    const failed_job = {
      id,
      job_type: "DEPLOY",
      status: "FAILED",
      error_message: "Error: half done",
    };
    await run("PLAN", success);
    expect(await read()).toMatchObject({ status: "NEW", failed_job });
    await run("PLAN", failure("Error: typo"));
    expect(await read()).toMatchObject({ error_message: "Error: typo", failed_job });
    await run("PLAN", { status: "CANCELLED" });
    await run("DEPLOY", { status: "CANCELLED" });
    expect(await read()).toMatchObject({ failed_job });
    const { zones } = await client.call("listZones");
    expect(zones.flatMap(({ specs }) => specs)).toMatchObject([{ failed_job }]);
    await run("DESTROY", success);
    expect(await read()).toMatchObject({ failed_job: null });
  });

  it("is a failed PLAN until a job succeeds", async ({ run, read }) => {
    expect(await read()).toMatchObject({ failed_job: null });
    const { id } = await run("PLAN", failure("Error: typo"));
    expect(await read()).toMatchObject({ failed_job: { id, job_type: "PLAN" } });
    await run("PLAN", success);
    expect(await read()).toMatchObject({ failed_job: null });
  });

  it("is an apply that was cancelled after it had changed something", async ({ run, read }) => {
    const body = { status: "CANCELLED", backend: "own", error_message: "cancelled" } as const;
    const { id } = await run("DEPLOY", body);
    await run("PLAN", success);
    expect(await read()).toMatchObject({ status: "NEW", failed_job: { id, status: "CANCELLED" } });
  });
});

describe("a cancelled apply with an unknown outcome", () => {
  const cancelled = { status: "CANCELLED" } as const;
  const unknown = { ...cancelled, outcome_unknown: true } as const;

  it("is an unresolved failure, a PLAN is none", async ({ client, spec, run, read }) => {
    await run("DEPLOY", success);
    await run("PLAN", unknown);
    expect(await read()).toMatchObject({ status: "DEPLOYED", failed_job: null });
    const { id } = await run("DEPLOY", unknown);
    const failed_job = { id, status: "CANCELLED" };
    const error_message = "cancelled, outcome unknown";
    expect(await read()).toMatchObject({ status: "FAILED", error_message, failed_job });
    expect(statusWords(await read())).toBe("DEPLOYED, last deploy cancelled");
    await client.call("breakStateLock", { params: { name: spec } });
    await run("PLAN", success);
    expect(await read()).toMatchObject({ status: "DEPLOYED", failed_job });
    await run("DEPLOY", success);
    expect(await read()).toMatchObject({ status: "DEPLOYED", failed_job: null });
  });

  it("of a lost runner is one until its report", async ({ client, start, run, read, runner }) => {
    const cancelAndLose = async () => {
      const params = await start("DEPLOY");
      await client.call("cancelJob", { params });
      expect(await read()).not.toMatchObject({ failed_job: params });
      await writeJobs(plane.context, async (tx, afterCommit) => {
        const job = await tx.first(findJob, params);
        await loseJob(tx, afterCommit, job!, system, Date.now());
      });
      expect(await read()).toMatchObject({ status: "FAILED", failed_job: params });
      return params;
    };
    const back = (params: { id: string }) =>
      runner.call("reportStatus", { params, body: cancelled });
    await run("DEPLOY", success);
    await back(await cancelAndLose());
    expect(await read()).toMatchObject({ status: "DEPLOYED", failed_job: null });
    const failed_job = await run("DEPLOY", failure("Error: half done"));
    await run("PLAN", success);
    await back(await cancelAndLose());
    expect(await read()).toMatchObject({ status: "DEPLOYED", failed_job });
  });
});

describe("the time at which a configuration changed", () => {
  it("is that of its settings, not of its jobs", async ({ run, read, client, spec }) => {
    const { updated_at } = await read();
    await run("DEPLOY", success);
    await run("PLAN", failure("Error: typo"));
    expect(await read()).toMatchObject({ updated_at });
    const params = { name: spec };
    await client.call("updateConfiguration", { params, body: { labels: ["a"] } });
    expect(await read()).not.toMatchObject({ updated_at });
  });
});

describe("a cancelled deployment", () => {
  it("is FAILED with what the state records if it has written state", async ({
    start,
    read,
    write,
    client,
    runner,
  }) => {
    for (const [serial, resources, job_type, status] of [
      [1, 4, "DEPLOY", "NEW"],
      [2, 1, "DESTROY", "FAILED"],
    ] as const) {
      const params = await start(job_type);
      await client.call("cancelJob", { params });
      expect(await read()).toMatchObject({ status });
      await write(serial, resources, params.id);
      const error_message = "cancelled during apply; apply: exit code 1";
      await runner.call("reportStatus", { params, body: { status: "CANCELLED", error_message } });
      const records = resources === 1 ? "1 resource" : "4 resources";
      expect(await read()).toMatchObject({
        status: "FAILED",
        error_message: `${error_message}; the state records ${records}`,
        deployed: { serial, resources, job_id: params.id },
      });
    }
  });

  it("is FAILED if its runner applied to a state of another backend", async ({ run, read }) => {
    await run("DEPLOY", { status: "CANCELLED", backend: "own", error_message: "cancelled" });
    expect(await read()).toMatchObject({ status: "FAILED", error_message: "cancelled" });
  });

  it("restores the status and the message before if it has changed nothing", async ({
    run,
    start,
    read,
    write,
    client,
    runner,
  }) => {
    const before = await run("PLAN", failure("Error: typo"));
    const params = await start("DEPLOY");
    expect(await read()).toMatchObject({ status: "DEPLOYING", error_message: null });
    // The empty first state of a new backend.
    await write(1, 0, params.id);
    await client.call("cancelJob", { params });
    await runner.call("reportStatus", { params, body: { status: "CANCELLED" } });
    expect(await read()).toMatchObject({ status: "FAILED", error_message: "Error: typo" });
    expect(before.id).not.toBe(params.id);
  });
});

describe("what is deployed", () => {
  it("is shown beside a failure", async ({ owner, start, run, read, write, client, runner }) => {
    expect(await read()).toMatchObject({ deployed: null });
    const params = await start("DEPLOY");
    await write(7, 300, params.id);
    await runner.call("reportStatus", { params, body: success });
    await run("PLAN", failure("Error: typo"));
    const deployed = {
      serial: 7,
      resources: 300,
      at: "1970-01-01T00:00:00.001Z",
      job_id: params.id,
      by: `${owner.id}@example.com`,
    };
    expect(await read()).toMatchObject({ status: "FAILED", deployed });
    const { zones } = await client.call("listZones");
    expect(zones.flatMap(({ specs }) => specs)).toMatchObject([{ deployed }]);
  });

  it("has no serial and resources with an own backend", async ({ owner, run, read, write }) => {
    await write(3, 0, null);
    const { id } = await run("DEPLOY", { status: "SUCCESS", backend: "own" });
    const { deployed } = await read();
    expect(deployed).toMatchObject({ serial: null, resources: null, job_id: id });
    expect(deployed?.by).toBe(`${owner.id}@example.com`);
    await run("DESTROY", { status: "SUCCESS", backend: "own" });
    expect(await read()).toMatchObject({ deployed: null });
  });
});
