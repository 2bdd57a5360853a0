/**
 * The queue heads always match the jobs, and a claim gets the oldest job of the first class that the
 * worker may take, after any events.
 */
import { join } from "node:path";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isHeld, type JobRow } from "../../../../control-plane/domain/job.ts";
import { mayTake, withLists, type Claimant } from "../../../../control-plane/domain/worker.ts";
import { claimAnyJob, claimOwnJob } from "../../../../control-plane/store/claims/claims.ts";
import type { Store } from "../../../../control-plane/store/db.ts";
import { fillQueueHeads } from "../../../../control-plane/store/migrations/queue.ts";
import { saveJob } from "../../../../control-plane/store/jobs/jobs.ts";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import { addLock, releaseLock } from "../../../../control-plane/store/states/states.ts";
import { openPostgres } from "../../../../control-plane/store/engines/postgres.ts";
import { addJob, addOwner, addSpec, addWorker, type Owner } from "../../../helpers/plane/rows.ts";
import { newTestDatabase, type TestDatabase } from "../../../helpers/store/test-database.ts";
import { folderForEachTest } from "../../../helpers/machine/folders.ts";

let directory: string;
let database: TestDatabase | undefined;
let store: Store;
folderForEachTest((path) => {
  directory = path;
});
beforeEach(async () => {
  database = await newTestDatabase();
  store = database
    ? await openPostgres({ url: database.url, connections: 4 })
    : await openSqlite(join(directory, "windlass.db"));
});
afterEach(async () => {
  await store.close();
  await database?.remove();
});

/** A generator that returns the same numbers for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const labelSets = ["[]", '["a"]', '["b"]', '["a","b"]', '["b","a"]', '["c"]'];

const featureSets = ["[]", "[]", '["a"]', '["a","submodules"]', '["submodules"]'];

interface World {
  readonly owners: readonly Owner[];
  readonly specs: readonly (readonly string[])[];
  readonly workers: readonly Claimant[];
}

async function makeWorld(): Promise<World> {
  const owners = [await addOwner(store), await addOwner(store)];
  const specs = [];
  for (const owner of owners)
    specs.push([
      await addSpec(store, owner),
      await addSpec(store, owner),
      await addSpec(store, owner),
    ]);
  const workers = [];
  for (const [owner, labels, features] of [
    [owners[0], "[]", "[]"],
    [owners[0], '["a"]', '["submodules"]'],
    [owners[0], '["submodules"]', '["a"]'],
    [owners[1], '["a","b"]', '["a","submodules"]'],
    [null, '["b"]', '["submodules"]'],
  ] as const)
    workers.push(await addWorker(store, owner ?? null, { labels, features }));
  return { owners, specs, workers: workers.map(withLists) };
}

const readJobs = (): Promise<JobRow[]> =>
  store.read.sql.selectFrom("jobs").selectAll().orderBy("id").execute();

/** In no order, on PostgreSQL. */
const sorted = (heads: readonly object[]) => heads.map((head) => JSON.stringify(head)).toSorted();

const readHeads = () => store.read.sql.selectFrom("queue_heads").selectAll().execute();

async function freeJobs(): Promise<JobRow[]> {
  const jobs = await readJobs();
  const locks = await store.read.sql.selectFrom("state_locks").select("spec_id").execute();
  const occupied = new Set([
    ...jobs.filter(isHeld).map(({ spec_id }) => spec_id),
    ...locks.map(({ spec_id }) => spec_id),
  ]);
  const holders = new Set(jobs.filter(isHeld).map(({ worker_id }) => worker_id));
  return jobs.filter(
    (job) =>
      job.status === "QUEUED" &&
      job.unapproved === 0 &&
      (job.spec_id === null || !occupied.has(job.spec_id)) &&
      !(job.job_type === "DESTROY_WORKER" && holders.has(job.assigned_worker_id)),
  );
}

/** The order of a claim: what has waited long enough is of the first class. */
const inOrder = (jobs: readonly JobRow[], lifted: string): JobRow[] => {
  const rank = ({ id, queue_class }: JobRow) => (id < lifted ? 0 : queue_class);
  return jobs.toSorted((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1));
};

async function claim({ id: worker, owner_id: owner }: Claimant, lifted: string) {
  const params = { worker, claim_key: null, now: 5, lifted };
  const job = await store.write((tx) =>
    owner === null ? tx.first(claimAnyJob, params) : tx.first(claimOwnJob, { ...params, owner }),
  );
  return job?.id;
}

it.each([1, 2, 3, 4, 5, 6])(
  "queue heads match the jobs after random events, seed %i",
  async (seed) => {
    const random = randomOf(seed);
    const pick = <T>(things: readonly T[]): T => things[random(things.length)]!;
    const world = await makeWorld();
    for (let step = 0; step < 150; step += 1) {
      const jobs = await readJobs();
      const held = jobs.filter(isHeld);
      const event = random(10);
      if (event < 4) {
        const place = random(2);
        const owner = world.owners[place]!;
        const isTeardown = random(8) === 0;
        const own = world.workers.filter(({ owner_id }) => owner_id === owner.id);
        await addJob(store, owner, {
          labels: pick(labelSets),
          features: pick(featureSets),
          spec_id: random(6) === 0 ? null : pick(world.specs[place]!),
          job_type: isTeardown ? "DESTROY_WORKER" : "PLAN",
          assigned_worker_id: isTeardown || random(4) === 0 ? pick(own).id : null,
          queue_class: pick([0, 0, 1, 2]),
        });
      } else if (event < 7) {
        const worker = pick(world.workers);
        const free = await freeJobs();
        const lifted = free[random(2 * free.length + 1)]?.id ?? "";
        const expected = inOrder(free, lifted).find((job) => mayTake(worker, withLists(job)));
        expect(await claim(worker, lifted)).toBe(expected?.id);
      } else if (event === 7 && held.length > 0) {
        const job = pick(held);
        const isBack = random(3) === 0;
        await store.write((tx) =>
          saveJob(
            tx,
            isBack
              ? { ...job, status: "QUEUED", worker_id: null, claimed_at: null }
              : { ...job, status: "SUCCESS", released_at: 6, ended_at: 6 },
          ),
        );
      } else if (event === 8 && jobs.length > 0) {
        const spec_id = pick(world.specs.flat());
        await store.write(async (tx) => {
          if (await releaseLock(tx, spec_id)) return;
          await addLock(tx, { spec_id, lock_id: "l", job_id: spec_id, info: "{}", created_at: 1 });
        });
      } else {
        const queued = jobs.filter(({ status }) => status === "QUEUED");
        const job = queued[random(queued.length)];
        if (job === undefined) continue;
        const unapproved = job.unapproved === 0 ? 1 : 0;
        const isCancelled = random(2) === 0;
        await store.write(async (tx) => {
          if (isCancelled)
            await saveJob(tx, { ...job, status: "CANCELLED", ended_at: 6, released_at: 6 });
          else
            await tx.sql.updateTable("jobs").set({ unapproved }).where("id", "=", job.id).execute();
        });
      }
      const heads = await readHeads();
      const free = new Set((await freeJobs()).map(({ id }) => id));
      expect(heads.filter((head) => (head.is_free === 1) !== free.has(head.job_id))).toEqual([]);
      const kinds = Map.groupBy(
        (await readJobs()).filter(
          ({ status, unapproved }) => status === "QUEUED" && unapproved === 0,
        ),
        (job) => {
          const isTeardown = job.job_type === "DESTROY_WORKER";
          const labels = !isTeardown && job.assigned_worker_id !== null ? "[]" : job.labels;
          const { spec_id, assigned_worker_id, features, queue_class } = job;
          return [spec_id, isTeardown, assigned_worker_id, labels, features, queue_class].join("|");
        },
      );
      expect(heads.map(({ job_id }) => job_id).toSorted()).toEqual(
        [...kinds.values()].map(([oldest]) => oldest?.id ?? "").toSorted(),
      );
      if (step % 10 !== 0 || store.isShared) continue;
      // The upgrade of a store without queue heads creates the same ones.
      await store.write(async (tx) => {
        await tx.sql.deleteFrom("queue_heads").execute();
        await sql.raw(fillQueueHeads).execute(tx.sql);
      });
      expect(sorted(await readHeads())).toEqual(sorted(heads));
    }
  },
);
