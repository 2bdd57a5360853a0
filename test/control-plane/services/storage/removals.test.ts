import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { system } from "../../../../control-plane/services/audit/audit.ts";
import { loseSomeJobs } from "../../../../control-plane/services/job-changes/outcomes.ts";
import { removeSomeOfSpec } from "../../../../control-plane/services/storage/removals.ts";
import { findHeldJobs } from "../../../../control-plane/store/jobs/jobs.ts";
import { findUsage } from "../../../../control-plane/store/storage/quotas.ts";
import { abandonSpec } from "../../../../control-plane/store/configurations/removals.ts";
import { deleteWorker as deleteWorkerRow } from "../../../../control-plane/store/workers/workers.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import { addHeldJob, addTestWorker, readJob, readRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addRows, addSpec, type Owner } from "../../../helpers/plane/rows.ts";

const source = { type: "inline" as const, files: { "main.tf": "" } };
/** More than two batches. */
const many = 250;

const { plane } = planeForFile();

async function addJobs(owner: Owner, spec: string): Promise<string> {
  const job = await addHeldJob(plane, owner, await addTestWorker(plane, owner), {
    status: "FAILED",
    spec_id: spec,
    started_at: 1,
    ended_at: 1,
    released_at: 1,
  });
  const more = Array.from({ length: many - 1 }, () => ({ ...job, id: randomUUID() }));
  await addRows(plane.context.store, "jobs", ...more);
  return job.id;
}

const countJobs = async (spec: string) => (await readRows(plane, "jobs", { spec_id: spec })).length;
const countSpecs = async (spec: string) => (await readRows(plane, "specs", { id: spec })).length;

describe("a configuration with a long history", () => {
  async function setUp() {
    const { owner, client } = await addTestUser(plane);
    const spec = await addSpec(plane.context.store, owner);
    return { owner, spec, client, job: await addJobs(owner, spec) };
  }

  it("is not found as soon as it is deleted, and its history is removed afterwards", async () => {
    const { owner, spec, client, job } = await setUp();
    await client.call("deleteConfiguration", { params: { name: spec } });
    const seen = await client.call("getJob", { params: { id: job } });
    expect(seen).toMatchObject({ configuration_id: null, spec_id: null });
    const { jobs } = await client.call("listJobs");
    expect(jobs.filter(({ spec_id }) => spec_id !== null)).toEqual([]);
    expect(await client.refusal("retryJob", { params: { id: job } })).toBe("409 job_not_retryable");
    // Its names and its zone are free.
    const { id: zone_id } = await client.call("createZone", { body: { name: "other" } });
    await client.call("createConfiguration", { body: { name: spec, zone_id, source } });
    await client.call("deleteZone", { params: { id: owner.zone } });
    await expect.poll(() => countSpecs(spec), { timeout: 10_000 }).toBe(0);
    expect(await countJobs(spec)).toBe(0);
    expect((await client.call("listJobs")).jobs).toHaveLength(many);
  });

  it("is removed after a crash, whatever was left of it", async () => {
    const { spec } = await setUp();
    await plane.context.store.write((tx) => abandonSpec(tx, spec));
    await expect.poll(() => countSpecs(spec), { timeout: 10_000 }).toBe(0);
    expect(await countJobs(spec)).toBe(0);
  });

  it("is removed in batches of a bounded number of rows", async () => {
    const { owner, spec } = await setUp();
    const version = { spec_id: spec, serial: 1, lineage: "l", md5: "", resources: 0, job_id: null };
    const size = { size_bytes: 7, created_at: 1 };
    const versions = Array.from({ length: many }, (_, n) => ({
      ...version,
      ...size,
      blob: `${spec}${n}`,
    }));
    await addRows(plane.context.store, "state_versions", ...versions);
    const batches = await plane.context.store.write(async (tx) => {
      await abandonSpec(tx, spec);
      const left: object[] = [];
      for (let batch = 0; batch < 6; batch += 1) {
        await removeSomeOfSpec(tx, spec, 1);
        const jobs = await tx.sql
          .selectFrom("jobs")
          .select("id")
          .where("spec_id", "=", spec)
          .execute();
        const usage = await tx.first(findUsage, { owner: owner.id });
        const specs = await tx.sql
          .selectFrom("specs")
          .select("id")
          .where("id", "=", spec)
          .execute();
        left.push([usage?.state_bytes, jobs.length, specs.length]);
      }
      return left;
    });
    expect(batches).toEqual([
      [150 * 7, 250, 1],
      [50 * 7, 250, 1],
      [0, 200, 1],
      [0, 100, 1],
      [0, 0, 1],
      [0, 0, 0],
    ]);
  });
});

describe("a worker that holds many jobs", () => {
  async function setUp() {
    const { owner, worker, client } = await addTestUser(plane);
    const jobs = await Promise.all(
      Array.from({ length: 120 }, () => addHeldJob(plane, owner, worker, { started_at: 1 })),
    );
    const lost = async () =>
      (await Promise.all(jobs.map((job) => readJob(plane, job)))).filter(
        ({ status, released_at }) => status === "FAILED" && released_at !== null,
      ).length;
    return { worker, client, jobs, lost };
  }

  it("is not found as soon as it is deleted, and its jobs are lost afterwards", async () => {
    const { worker, client, jobs, lost } = await setUp();
    const params = { id: worker.id };
    await client.call("deleteWorker", { params });
    expect(await client.refusal("getWorker", { params })).toBe("404 not_found");
    await expect.poll(lost, { timeout: 10_000 }).toBe(jobs.length);
  });

  it("loses its jobs in batches of a bounded number", async () => {
    const { worker, jobs } = await setUp();
    const left = await plane.context.store.write(async (tx) => {
      await loseSomeJobs(tx, [], worker.id, system, 1);
      return tx.all(findHeldJobs, { worker: worker.id });
    });
    expect(left).toHaveLength(jobs.length - 50);
  });

  it("leaves no job held after a crash", async () => {
    const { worker, jobs, lost } = await setUp();
    await plane.context.store.write((tx) => deleteWorkerRow(tx, worker.id));
    await expect.poll(lost, { timeout: 10_000 }).toBe(jobs.length);
  });
});
