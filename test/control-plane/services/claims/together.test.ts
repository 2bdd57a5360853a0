/** Claims that come at the same moment. Control planes that share a store make them together. */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isHeld, type JobRow } from "../../../../control-plane/domain/job.ts";
import { secretBox } from "../../../../control-plane/domain/secret-box.ts";
import { seal } from "../../../../control-plane/domain/snapshot.ts";
import { mayTake, withLists, type WorkerRow } from "../../../../control-plane/domain/worker.ts";
import { Claims } from "../../../../control-plane/services/claims/claims.ts";
import { ClaimsTogether } from "../../../../control-plane/services/claims/together.ts";
import { saveJob } from "../../../../control-plane/store/jobs/jobs.ts";
import { lockWorker } from "../../../../control-plane/store/workers/workers.ts";
import { seededBelow } from "../../../helpers/plane/hostile-values.ts";
import { readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addJob, addOwner, addSpec, addWorker, type Owner } from "../../../helpers/plane/rows.ts";
import { origin } from "../../../helpers/people/sign-in.ts";

const { plane } = planeForFile();

let claims: Claims;
beforeAll(() => {
  claims = new Claims(plane.context);
});
afterAll(() => claims.close());

/** Claims for a worker as it was read; returns the id of the job. */
async function claim(row: WorkerRow, key?: string): Promise<string | undefined> {
  const text = await claims.claim({
    worker: { ...row, presented_hash: row.token_hash, origin },
    key,
    waitMilliseconds: 0,
    disconnected: () => new AbortController().signal,
  });
  return text === null ? undefined : (JSON.parse(text) as { job: { id: string } }).job.id;
}

const jobsOf = (owner: Owner): Promise<JobRow[]> => readRows(plane, "jobs", { owner_id: owner.id });

const addWorkers = (owner: Owner, amount: number, change: Partial<WorkerRow> = {}) =>
  Promise.all(Array.from({ length: amount }, () => addWorker(plane.context.store, owner, change)));

const addJobs = async (owner: Owner, amount: number, change: Partial<JobRow> = {}) => {
  const jobs: JobRow[] = [];
  for (let n = 0; n < amount; n += 1) {
    const spec_id = await addSpec(plane.context.store, owner);
    jobs.push(await addJob(plane.context.store, owner, { spec_id, ...change }));
  }
  return jobs;
};

describe("claims at the same moment", () => {
  it("by equal workers take the oldest jobs", async () => {
    const owner = await addOwner(plane.context.store);
    const workers = await addWorkers(owner, 16);
    const jobs = await addJobs(owner, 20);
    const taken = await Promise.all(workers.map((worker) => claim(worker)));
    expect(new Set(taken)).toEqual(new Set(jobs.slice(0, 16).map(({ id }) => id)));
  });

  it("share one transaction where control planes share the store", async () => {
    if (!plane.context.store.isShared) return;
    const owner = await addOwner(plane.context.store);
    const workers = [
      ...(await addWorkers(owner, 8)),
      ...(await addWorkers(owner, 8, { labels: '["gpu"]' })),
    ];
    await addJobs(owner, 16);
    const together = new ClaimsTogether(plane.context);
    const callers = workers.map((row) => ({ ...row, presented_hash: row.token_hash, origin }));
    await Promise.all(
      callers.map((worker, index) => together.take(worker, index % 2 === 0 ? "key" : undefined)),
    );
    const { rows } = await sql<{ transaction: string }>`
      select distinct xmin::text as transaction from jobs
        where owner_id = ${owner.id} and status = 'PROCESSING'`.execute(
      plane.context.store.read.sql,
    );
    expect(rows).toHaveLength(1);
    expect((await jobsOf(owner)).filter(isHeld)).toHaveLength(16);
  });

  it("do not wait for a transaction of others", async () => {
    const { context } = plane;
    if (!context.store.isShared) return;
    const owner = await addOwner(context.store);
    const [slow, ...others] = (await addWorkers(owner, 18)) as [WorkerRow, ...WorkerRow[]];
    await addJobs(owner, 18);
    const together = new ClaimsTogether(context);
    const take = (row: WorkerRow, key?: string) =>
      together.take({ ...row, presented_hash: row.token_hash, origin }, key);
    const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holder = context.store.share(async (tx) => {
      await tx.first(lockWorker, { id: slow.id });
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const first = [take(slow, "key"), take(others[0]!, "key")];
    // The transaction of these two is under way.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const later = await Promise.all(others.slice(1).map((worker) => take(worker)));
    expect(later.map((job) => job !== null)).toEqual(later.map(() => true));
    release.resolve();
    await holder;
    expect((await Promise.all(first)).map((job) => job !== null)).toEqual([true, true]);
  });

  it("by different workers take what each of them may take", async () => {
    const owner = await addOwner(plane.context.store);
    const [plain, other, gpu, able] = [
      ...(await addWorkers(owner, 2)),
      ...(await addWorkers(owner, 1, { labels: '["gpu"]' })),
      ...(await addWorkers(owner, 1, { features: '["debug"]' })),
    ] as [WorkerRow, WorkerRow, WorkerRow, WorkerRow];
    const [forGpu] = await addJobs(owner, 1, { labels: '["gpu"]' });
    const [forAble] = await addJobs(owner, 1, { features: '["debug"]' });
    const [forOther] = await addJobs(owner, 1, { assigned_worker_id: other.id });
    const [forAll] = await addJobs(owner, 1);
    const taken = await Promise.all([plain, other, gpu, able].map((worker) => claim(worker)));
    expect(taken).toEqual([forAll, forOther, forGpu, forAble].map((job) => job?.id));
  });

  it("take one job of a configuration, and no teardown of a worker that takes one too", async () => {
    const owner = await addOwner(plane.context.store);
    const [worker, target] = (await addWorkers(owner, 2)) as [WorkerRow, WorkerRow];
    const spec_id = await addSpec(plane.context.store, owner);
    await addJobs(owner, 1, { spec_id });
    await addJobs(owner, 1, { spec_id, features: '["debug"]' });
    const [teardown] = await addJobs(owner, 1, {
      spec_id: null,
      job_type: "DESTROY_WORKER",
      assigned_worker_id: target.id,
    });
    const [free] = await addJobs(owner, 1);
    const able = await addWorkers(owner, 2, { features: '["debug"]' });
    await Promise.all([worker, target, ...able].map((one) => claim(one)));
    const held = (await jobsOf(owner)).filter(isHeld);
    expect(held.filter((job) => job.spec_id === spec_id)).toHaveLength(1);
    expect(held.map(({ id }) => id)).toContain(free!.id);
    if (held.some(({ worker_id }) => worker_id === target.id))
      expect(held.find(({ id }) => id === teardown!.id)?.worker_id).not.toBe(target.id);
  });

  it("take a job behind those that another control plane takes meanwhile", async () => {
    const { store } = plane.context;
    if (!store.isShared) return;
    const owner = await addOwner(store);
    const [worker, other] = (await addWorkers(owner, 2)) as [WorkerRow, WorkerRow];
    const jobs = await addJobs(owner, 21);
    const last = jobs.at(-1)!.id;
    const mine = await store.share(async (tx) => {
      await tx.sql
        .updateTable("jobs")
        .set({ status: "PROCESSING", worker_id: other.id, claimed_at: 1, attempt: 1 })
        .where("owner_id", "=", owner.id)
        .where("id", "<>", last)
        .execute();
      return claim(worker);
    });
    expect(mine).toBe(last);
  });

  it("leave out a worker that starts to drain or changes its labels after it asked", async () => {
    const owner = await addOwner(plane.context.store);
    const workers = await addWorkers(owner, 3, { labels: '["gpu"]' });
    const jobs = await addJobs(owner, 3, { labels: '["gpu"]' });
    await setRows(plane, "workers", { draining_at: 1 }, { id: workers[0]!.id });
    await setRows(plane, "workers", { labels: "[]" }, { id: workers[1]!.id });
    const taken = await Promise.all(workers.map((worker) => claim(worker)));
    expect(taken).toEqual([undefined, undefined, jobs[0]!.id]);
  });

  it("return one job to the same key, and another to each other key", async () => {
    const owner = await addOwner(plane.context.store);
    const [one, two] = (await addWorkers(owner, 2)) as [WorkerRow, WorkerRow];
    await addJobs(owner, 8);
    const taken = await Promise.all([
      ...["a", "b", "a", "c", "a"].map((key) => claim(one, key)),
      ...["a", "a"].map((key) => claim(two, key)),
    ]);
    expect(new Set(taken).size).toBe(4);
    expect([taken[2], taken[4], taken[6]]).toEqual([taken[0], taken[0], taken[5]]);
    expect(await claim(one, "b")).toBe(taken[1]);
    expect((await jobsOf(owner)).filter(isHeld)).toHaveLength(4);
  });

  it("fail a job that cannot be opened, and take the others", async () => {
    const owner = await addOwner(plane.context.store);
    const workers = await addWorkers(owner, 3);
    const [unreadable, ...jobs] = (await addJobs(owner, 4)) as [JobRow, ...JobRow[]];
    const source = { type: "inline" as const, files: { "main.tf": "" } };
    const variables = { password: { value: "a", sensitive: true } };
    const box = secretBox(["another".padEnd(40)], "variables");
    const config_snapshot = JSON.stringify(seal({ source, variables }, box, unreadable.id));
    await setRows(plane, "job_snapshots", { config_snapshot }, { job_id: unreadable.id });
    const taken = await Promise.all(workers.map((worker) => claim(worker)));
    expect(new Set(taken)).toEqual(new Set(jobs.map(({ id }) => id)));
    expect((await jobsOf(owner)).find(({ id }) => id === unreadable.id)?.status).toBe("FAILED");
  });

  it.each([1, 2, 3, 4])("take every job once and leave none that fits, seed %i", async (seed) => {
    const random = seededBelow(seed);
    const pick = <T>(things: readonly T[]): T => things[random(things.length)]!;
    const owner = await addOwner(plane.context.store);
    const has = ["[]", '["a"]', '["a","b"]', '["b"]'];
    const workers: WorkerRow[] = [];
    for (let n = 0; n < 10; n += 1)
      workers.push(
        ...(await addWorkers(owner, 1, { labels: pick(has), features: pick(["[]", '["debug"]']) })),
      );
    const specs = [];
    for (let n = 0; n < 6; n += 1) specs.push(await addSpec(plane.context.store, owner));
    for (let round = 0; round < 5; round += 1) {
      for (let n = 0; n < 12; n += 1) {
        const isTeardown = random(8) === 0;
        await addJobs(owner, 1, {
          labels: pick(has),
          features: pick(["[]", "[]", '["debug"]']),
          ...(isTeardown ? { spec_id: null } : random(2) === 0 ? {} : { spec_id: pick(specs) }),
          job_type: isTeardown ? "DESTROY_WORKER" : "PLAN",
          assigned_worker_id: isTeardown || random(4) === 0 ? pick(workers).id : null,
        });
      }
      const callers = Array.from({ length: 1 + random(16) }, () => pick(workers));
      const taken = await Promise.all(
        callers.map((worker) => claim(worker, random(2) === 0 ? randomUUID() : undefined)),
      );
      const jobs = await jobsOf(owner);
      const held = jobs.filter(isHeld);
      expect(taken.filter(Boolean)).toHaveLength(held.length);
      expect(new Set(taken.filter(Boolean))).toEqual(new Set(held.map(({ id }) => id)));
      for (const [index, id] of taken.entries()) {
        const worker = callers[index]!;
        const job = held.find((one) => one.id === id);
        if (job) {
          expect(job).toMatchObject({ worker_id: worker.id, attempt: 1, status: "PROCESSING" });
          expect(mayTake(withLists(worker), withLists(job))).toBe(true);
        } else {
          const busy = new Set(held.map(({ spec_id }) => spec_id));
          const holders = new Set(held.map(({ worker_id }) => worker_id));
          const left = jobs.filter(
            (one) =>
              one.status === "QUEUED" &&
              (one.spec_id === null || !busy.has(one.spec_id)) &&
              !(one.job_type === "DESTROY_WORKER" && holders.has(one.assigned_worker_id)) &&
              mayTake(withLists(worker), withLists(one)),
          );
          expect(left).toEqual([]);
        }
      }
      for (const job of held)
        await plane.context.store.write((tx) =>
          saveJob(tx, { ...job, status: "SUCCESS", released_at: 6, ended_at: 6 }),
        );
    }
  });
});
