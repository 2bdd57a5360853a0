/**
 * Generates histories in any order of time and checks that exactly the data that the retention
 * rules name is removed.
 */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import type { JobRow } from "../../../../control-plane/domain/job.ts";
import { day } from "../../../../common/units.ts";
import type { Retention } from "../../../../control-plane/domain/retention.ts";
import type { Context } from "../../../../control-plane/services/context.ts";
import { retainOnce } from "../../../../control-plane/services/storage/retention.ts";
import { readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  addJob,
  addOwner,
  addRows,
  addSpec,
  addState,
  addWorker,
} from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile({
  // The server's own housekeeping, which starts later, must find nothing to remove.
  WINDLASS_RETENTION_LOG_DAYS: "forever",
  WINDLASS_RETENTION_ARTIFACT_DAYS: "forever",
  WINDLASS_RETENTION_STATE_DAYS: "forever",
  WINDLASS_OFFLINE_SECONDS: "3600",
});

/** Holds the jobs that are not over: jobs of a silent worker would be ended as lost. */
const holder = "w";
beforeAll(async () => {
  const { store, now } = plane.context;
  await addWorker(store, null, { id: holder, created_at: now(), last_heartbeat_at: now() });
});

const retention: Retention = {
  logs: 10 * day,
  artifacts: 5 * day,
  states: 20 * day,
  stateVersions: 2,
};
const blob = () => randomBytes(16).toString("hex");
const sha256 = () => randomBytes(32).toString("hex");
/** Ages in days, never exactly on a boundary. */
const age = fc.integer({ min: 0, max: 40 }).map((days) => days + 0.5);
const past = fc.record({
  type: fc.constantFrom("PLAN" as const, "DEPLOY" as const),
  state: fc.constantFrom("queued", "claimed", "running", "cancelling", "unstarted", "ended"),
  released: age,
  /** Days between the release and a late report. */
  late: fc.constantFrom(0, 7),
  chunk: fc.option(age),
  artifact: fc.boolean(),
  /** The index of the earlier job whose plan this job deploys. */
  plan: fc.option(fc.nat(5)),
  locks: fc.boolean(),
  archive: fc.option(fc.nat(3)),
});
const world = fc.record({
  jobs: fc.array(past, { maxLength: 6 }),
  archives: fc.array(fc.record({ seen: age, by: fc.constantFrom("none", "spec", "worker") }), {
    minLength: 4,
    maxLength: 4,
  }),
  states: fc.array(age, { maxLength: 6 }),
});
type Past = typeof past extends fc.Arbitrary<infer T> ? T : never;
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

const longAgo: Past = {
  type: "PLAN",
  state: "ended",
  released: 39.5,
  late: 0,
  chunk: null,
  artifact: false,
  plan: null,
  locks: false,
  archive: null,
};

function rowOf({ type, state, released, late }: Past, now: number): Partial<JobRow> {
  const at = (days: number) => now - days * day;
  const begun = { job_type: type, worker_id: holder, claimed_at: at(41), attempt: 1 };
  switch (state) {
    case "queued":
      return { job_type: type, status: "QUEUED" };
    case "claimed":
      return { ...begun, status: "PROCESSING" };
    case "running":
      return { ...begun, status: "PROCESSING", started_at: at(41) };
    case "cancelling":
      return { ...begun, status: "CANCELLED", started_at: at(41), ended_at: at(41) };
    case "unstarted":
      return {
        job_type: type,
        status: "CANCELLED",
        ended_at: at(released),
        released_at: at(released),
      };
    default:
      return {
        ...begun,
        status: "SUCCESS",
        started_at: at(41),
        released_at: at(released),
        ended_at: at(Math.max(0.5, released - late)),
      };
  }
}

async function build({ jobs, archives, states }: World) {
  const { store } = plane.context;
  const now = plane.context.now();
  const at = (days: number) => now - days * day;
  const owner = await addOwner(store);
  const digests = archives.map(sha256);
  const ids: string[] = [];
  // Concurrent writes share commits.
  const writes: Promise<void>[] = [];
  const stateSpec = await addSpec(store, owner);
  for (const job of jobs) {
    const spec_id = await addSpec(store, owner);
    const plan_job_id = job.plan === null ? null : (ids[job.plan] ?? null);
    const { id } = await addJob(store, owner, { ...rowOf(job, now), spec_id, plan_job_id });
    ids.push(id);
    if (job.chunk !== null) {
      const chunk = { seq: 1, stream_type: "STDOUT", log_chunk: "x" } as const;
      writes.push(
        addRows(store, "log_chunks", { job_id: id, ...chunk, created_at: at(job.chunk) }),
      );
    }
    if (job.artifact) {
      const artifact = { attempt: 1, blob: blob(), size_bytes: 1, sha256: "" };
      writes.push(
        addRows(store, "plan_artifacts", { job_id: id, ...artifact, created_at: at(40.5) }),
      );
    }
    if (job.locks) {
      const lock = { lock_id: "l", info: "{}", created_at: at(40) };
      writes.push(addRows(store, "state_locks", { spec_id, job_id: id, ...lock }));
    }
    if (job.archive !== null) {
      const source = { type: "archive", sha256: digests[job.archive] };
      const config_snapshot = JSON.stringify({ source });
      writes.push(setRows(plane, "job_snapshots", { config_snapshot }, { job_id: id }));
    }
  }
  for (const [index, { seen, by }] of archives.entries()) {
    const digest = digests[index] ?? "";
    const source = { type: "archive", sha256: digest };
    if (by === "worker")
      await addWorker(store, owner, {
        metadata: JSON.stringify({ deploy_configuration: { snapshot: { source } } }),
      });
    if (by === "spec") {
      const spec = await addSpec(store, owner);
      writes.push(
        setRows(plane, "specs", { definition: JSON.stringify({ source }) }, { id: spec }),
      );
    }
    const archive = { owner_id: owner.id, sha256: digest, blob: blob(), size_bytes: 1 };
    writes.push(addRows(store, "archives", { ...archive, created_at: at(45), named_at: at(seen) }));
  }
  const oldestFirst = states.toSorted((a, b) => b - a);
  for (const [index, days] of oldestFirst.entries())
    writes.push(
      addState(store, {
        spec_id: stateSpec,
        serial: index + 1,
        blob: blob(),
        created_at: at(days),
      }),
    );
  await Promise.all(writes);
  return { ids, digests, stateSpec, oldestFirst };
}

test("retention removes all that is old and unused, and nothing else", async () => {
  await fc.assert(
    fc.asyncProperty(world, async (given) => {
      const context: Context = { ...plane.context, retention };
      const { ids, digests, stateSpec, oldestFirst } = await build(given);
      await retainOnce(context);

      const isOver = ({ state }: Past) => state === "ended" || state === "unstarted";
      /** Days since the last change of the job. */
      const over = ({ state, released, late }: Past) =>
        state === "ended" ? Math.max(0.5, Math.min(released, released - late)) : released;
      const isPast = (job: Past, days: number) => isOver(job) && over(job) > days;
      const usersOf = (index: number) =>
        given.jobs.filter((job, other) => other > index && job.plan === index);
      const keepsArtifact = (job: Past, index: number) =>
        job.artifact && ![job, ...usersOf(index)].every((one) => isPast(one, 5));
      const losesLog = (job: Past, index: number) =>
        job.state === "ended" &&
        isPast(job, 10) &&
        (job.chunk ?? 99) > 10 &&
        !job.locks &&
        !keepsArtifact(job, index);
      const expected = {
        artifacts: ids.filter((_, index) => keepsArtifact(given.jobs[index]!, index)),
        pruned: ids.filter((_, index) => losesLog(given.jobs[index]!, index)),
        logs: ids.filter(
          (_, index) => given.jobs[index]!.chunk !== null && !losesLog(given.jobs[index]!, index),
        ),
        archives: digests.filter((_, index) => {
          const { seen, by } = given.archives[index]!;
          const isWanted = given.jobs.some(
            (job) =>
              job.archive === index &&
              // What a configuration has deployed last is kept: each has one job here.
              (!isOver(job) || (job.type === "DEPLOY" && job.state === "ended")),
          );
          return by !== "none" || isWanted || seen < 5 + 5 / 30;
        }),
        states: oldestFirst.flatMap((days, index) =>
          days < 20 || index >= oldestFirst.length - 2 ? [index + 1] : [],
        ),
      };

      const jobsOf = (rows: readonly { job_id: string }[]) =>
        ids.filter((id) => rows.some(({ job_id }) => job_id === id));
      const jobs = await readRows(plane, "jobs");
      const archives = await readRows(plane, "archives");
      const states = await readRows(plane, "state_versions", { spec_id: stateSpec });
      expect({
        artifacts: jobsOf(await readRows(plane, "plan_artifacts")),
        pruned: ids.filter((id) => jobs.find((job) => job.id === id)?.log_pruned_at !== null),
        logs: jobsOf(await readRows(plane, "log_chunks")),
        archives: digests.filter((digest) => archives.some((row) => row.sha256 === digest)),
        states: states.map(({ serial }) => serial),
      }).toEqual(expected);
    }),
    {
      numRuns: 60,
      // A plan whose only use was reported so late that it is recent.
      examples: [
        [
          {
            jobs: [
              { ...longAgo, type: "PLAN", artifact: true },
              { ...longAgo, type: "DEPLOY", plan: 0, released: 7.5, late: 7 },
            ],
            archives: Array.from({ length: 4 }, () => ({ seen: 0.5, by: "none" as const })),
            states: [],
          },
        ],
      ],
    },
  );
});

test("an archive is kept while it is deployed, and no longer", async () => {
  const { store } = plane.context;
  const context: Context = { ...plane.context, retention };
  const owner = await addOwner(store);
  const spec_id = await addSpec(store, owner);
  const archive = {
    sha256: sha256(),
    blob: blob(),
    size_bytes: 1,
    created_at: 1,
    named_at: 1,
  };
  await addRows(store, "archives", { owner_id: owner.id, ...archive });
  const deploy = async (claimed_at: number, more: Partial<JobRow> = {}) => {
    const ended = { status: "SUCCESS", started_at: 1, ended_at: 1, released_at: 1 } as const;
    const row = { spec_id, job_type: "DEPLOY", claimed_at, ...ended, ...more } as const;
    return (await addJob(store, owner, row)).id;
  };
  const job_id = await deploy(1);
  const config_snapshot = JSON.stringify({ source: { type: "archive", sha256: archive.sha256 } });
  await setRows(plane, "job_snapshots", { config_snapshot }, { job_id });
  const isKept = async () => {
    // Its last use that was recorded is long ago.
    await setRows(plane, "archives", { named_at: 1 }, { owner_id: owner.id });
    await retainOnce(context);
    return (await readRows(plane, "archives", { owner_id: owner.id })).length === 1;
  };
  expect(await isKept()).toBe(true);
  // Neither changes what is deployed.
  await deploy(2, { status: "FAILED" });
  await deploy(3, { job_type: "PLAN" });
  expect(await isKept()).toBe(true);
  await deploy(4, { job_type: "DESTROY" });
  expect(await isKept()).toBe(false);
});
