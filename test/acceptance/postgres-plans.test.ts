/**
 * How many rows frequent statements, and the lists of people under row security, read on PostgreSQL
 * with a long history and a long queue.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { jobStatuses } from "../../protocol/jobs.ts";
import { fillPostgres, type Filled } from "../../bench/lib/postgres.ts";
import { countAhead } from "../../control-plane/store/claims/ahead.ts";
import { claimAnyJobs, claimOwnJobs } from "../../control-plane/store/claims/claims-together.ts";
import {
  claimAnyJob,
  claimAnyJobLeft,
  claimOwnJob,
  claimOwnJobLeft,
  findAnyFree,
  findClaimed,
  findOwnFree,
} from "../../control-plane/store/claims/claims.ts";
import {
  PostgresQueries,
  type Runner,
} from "../../control-plane/store/engines/postgres-connection.ts";
import { listAuditEntries } from "../../control-plane/store/audit/audit.ts";
import {
  listFailedSpecs,
  listSpecSummaries,
  listWarnedSpecs,
} from "../../control-plane/store/configurations/summaries.ts";
import {
  findHeldBriefly,
  findHeldJobs,
  findJob,
  findNextOfSpec,
  findObstacles,
  findOwnJob,
  findQueuedTeardowns,
  lockJobBriefly,
} from "../../control-plane/store/jobs/jobs.ts";
import {
  findJobPage,
  listJobSummaries,
  searchedJobs,
} from "../../control-plane/store/jobs/lists.ts";
import { findLogArchive } from "../../control-plane/store/logs/archives.ts";
import { appendChunk, findBySeq, findLastSeq } from "../../control-plane/store/logs/logs.ts";
import { spacesSetting } from "../../control-plane/store/migrations/postgres/row-security.ts";
import { findLogVolume, saveLogVolume } from "../../control-plane/store/storage/quotas.ts";
import {
  findWorkerCaller,
  listWorkerIds,
  lockWorkers,
  recordHeartbeat,
} from "../../control-plane/store/workers/workers.ts";
import { listZones } from "../../control-plane/store/zones/zones.ts";
import { lackOfPostgres, startPostgres, type PostgresServer } from "../helpers/store/postgres.ts";
import { explain, wastefulStatements, type Case } from "../helpers/store/explain.ts";
import { proving } from "../helpers/project/proving.ts";
import { skipAt } from "../helpers/project/tools.ts";

const lack = lackOfPostgres();
let server: PostgresServer;
let client: pg.Client;
let filled: Filled;
beforeAll(async () => {
  if (lack !== undefined) return;
  server = await startPostgres();
  const url = await server.createMigrated();
  const finished = proving ? 1_000_000 : 100_000;
  filled = await fillPostgres(url, { finished, queued: 6000, workers: 20 });
  client = new pg.Client({ connectionString: url });
  await client.connect();
  // The older half of the queue is another owner's, whose workers are away.
  const older = `id in (select id from jobs where status = 'QUEUED' order by id limit 3000)`;
  await client.query(`insert into users (id, email, created_at) values ('other', 'o@example.com', 1);
    update jobs set owner_id = 'other' where ${older};
    update queue_heads set owner_id = 'other' where job_id in (select id from jobs where owner_id = 'other');
    insert into log_chunks (job_id, seq, stream_type, log_chunk, created_at)
      select id, seq, 'STDOUT', 'a line', 1 from (select id from jobs where owner_id <> 'other' order by id desc limit 2000) as newest,
        generate_series(1, 20) as seq;
    insert into users (id, email, created_at) values ('small', 's@example.com', 1);
    insert into zones (id, owner_id, name, created_at, updated_at) values ('small', 'small', 'zone', 1, 1);
    update jobs set owner_id = 'small', zone_id = 'small' where id in (
      select id from jobs where ended_at is not null order by id limit 300);
    analyze; set jit = off`);
});
afterAll(async () => {
  await client?.end();
  await server?.close();
});
skipAt(lack);

/** A claim whose first look found none looks at 256 jobs of each class, one for jobs of all owners twice. */
const mostOfStatement = 600;
const classes = 3;
/** A page of 50 jobs, and the one that tells whether more follow. */
const mostOfPage = 60;
/** What no index selects is searched in a bounded part of one. */
const mostOfSearch = searchedJobs + 60;
/** A page may pass over the queue, where most jobs have the wanted status. */
const mostOfList = 6100;

/**
 * Returns the parts of the plans for any owner, of the statements of runners, that read many rows.
 */
async function wastefulParts(
  client: pg.Client,
  { owner, workers }: Filled,
  most = mostOfStatement,
): Promise<string[]> {
  const worker = workers[0]!;
  const claims = workers.slice(0, 4).map((id, n) => ({ n, worker: id, key: n > 1 ? "key" : null }));
  const labels = { labels: "[]", features: "[]", now: 1, lifted: "", after: 0, heads: 32 };
  const together = { owner, claims: JSON.stringify(claims), ...labels };
  const alone = { owner, worker, claim_key: "key", now: 1, lifted: "" };
  const lifted = { ...alone, lifted: "ffffffff" };
  const newest = await client.query<{ id: string; spec_id: string }>(
    "select id, spec_id from jobs where status = 'SUCCESS' order by id desc limit 1",
  );
  const { id: job, spec_id: spec } = newest.rows[0]!;
  const heartbeat = {
    id: worker,
    now: 1,
    version: "1.0.0",
    instance_id: null,
    hostname: null,
    os: null,
    arch: null,
    capacity: 1,
    isolation: null,
    labels: "[]",
    features: "[]",
    active_job_ids: "[]",
  };
  const chunk = { stream_type: "STDOUT", log_chunk: "a line", step: null, resource: null, now: 1 };
  const statements: Case[] = [
    ["claimOwnJob", claimOwnJob, alone],
    ["claimOwnJobLeft", claimOwnJobLeft, alone],
    ["claimAnyJob", claimAnyJob, alone],
    ["claimAnyJobLeft", claimAnyJobLeft, alone],
    ["claimOwnJob, lifted", claimOwnJob, lifted],
    ["claimAnyJobLeft, lifted", claimAnyJobLeft, lifted],
    ["claimOwnJobs, lifted", claimOwnJobs, { ...together, lifted: "ffffffff" }],
    ["countAhead", countAhead, { owner, labels: "[]", features: "[]", queue_class: 2 }],
    ["claimOwnJobs", claimOwnJobs, together],
    ["claimAnyJobs", claimAnyJobs, together],
    ["findClaimed", findClaimed, { worker, claim_key: "key", after: 0 }],
    ["findOwnFree", findOwnFree, { owner }],
    ["findAnyFree", findAnyFree, {}],
    ["lockWorkers", lockWorkers, { ids: JSON.stringify(workers.slice(0, 4)) }],
    ["recordHeartbeat", recordHeartbeat, heartbeat],
    ["findHeldBriefly", findHeldBriefly, { worker }],
    ["findHeldJobs", findHeldJobs, { worker }],
    ["findObstacles", findObstacles, { spec, target: worker }],
    ["findWorkerCaller", findWorkerCaller, { id: worker }],
    ["lockJobBriefly", lockJobBriefly, { id: job }],
    ["findLogVolume", findLogVolume, { job }],
    ["findLastSeq", findLastSeq, { job }],
    ["findLogArchive", findLogArchive, { job }],
    ["appendChunk", appendChunk, { job, seq: 21, ...chunk }],
    ["findBySeq", findBySeq, { job, seq: 20 }],
    ["saveLogVolume", saveLogVolume, { job, bytes: 1, dropped_bytes: 0, dropped_seq: 0 }],
    ["findJob", findJob, { id: job }],
    ["findOwnJob", findOwnJob, { id: job, owner }],
    ["findNextOfSpec", findNextOfSpec, { spec }],
    ["findQueuedTeardowns", findQueuedTeardowns, { worker }],
  ];
  return wastefulStatements(client, statements, most);
}

it("of runners read few rows, with plans for any owner, with and without statistics", async () => {
  expect(await wastefulParts(client, filled)).toEqual([]);
  // As after a restore, until the database has collected some.
  await client.query("begin; delete from pg_statistic; commit");
  expect(await wastefulParts(client, filled)).toEqual([]);
  await client.query("analyze");
});

it.each([1, classes])(
  "of runners read few rows where most jobs wait, in %d classes",
  async (count) => {
    const url = await server.createMigrated();
    const size = { finished: 100, queued: 4000, workers: 20, classes: count };
    const young = await fillPostgres(url, size);
    const itsClient = new pg.Client({ connectionString: url });
    await itsClient.connect();
    await itsClient.query("set jit = off");
    const found = await wastefulParts(itsClient, young, count * mostOfStatement);
    await itsClient.end();
    expect(found).toEqual([]);
  },
);

/** Returns the parts of the plans of an owner's lists, under row security, that read many rows. */
async function wastefulLists(
  client: pg.Client,
  { owner, zone }: Pick<Filled, "owner" | "zone">,
): Promise<string[]> {
  const found: string[] = [];
  let [what, most] = ["", 0];
  let count = 0;
  const read = new PostgresQueries({
    query: async ({ text, values = [] }: pg.QueryConfig) => {
      count += 1;
      found.push(...(await explain(client, text, values, most)).map((part) => `${what}: ${part}`));
      return client.query({ text, values });
    },
  } as unknown as Runner);
  const page = { owner, limit: 50 };
  const before = await client.query<{ id: string }>(
    "select id from jobs where owner_id = $1 and ended_at is not null order by id desc limit 1",
    [owner],
  );
  const next = { ...page, before: before.rows[0]!.id };
  type Lists = Record<string, () => Promise<unknown>>;
  const ended = jobStatuses.filter((status) => status !== "QUEUED" && status !== "PROCESSING");
  const ofPage: Lists = Object.fromEntries(
    ended.flatMap((status) =>
      [{}, { zone }].flatMap((more) =>
        [page, next].map((from): [string, () => Promise<unknown>] => [
          `jobs ${JSON.stringify({ status, ...more, ...from })}`,
          () => findJobPage(read, { ...from, status, ...more }),
        ]),
      ),
    ),
  );
  const ofSearch: Lists = Object.fromEntries(
    ended.flatMap((status) =>
      [{}, { zone }].map((more): [string, () => Promise<unknown>] => [
        `jobs ${JSON.stringify({ status, ...more, type: "DEPLOY" })}`,
        () => findJobPage(read, { ...page, status, ...more, type: "DEPLOY" }),
      ]),
    ),
  );
  const ofQueue: Lists = {
    zones: () => listZones(read, owner, undefined, 50),
    configurations: () => listSpecSummaries(read, { ...page, zone, before: undefined }),
    "failed configurations": () => listFailedSpecs(read, owner, 50),
    "configurations with failed checks": () => listWarnedSpecs(read, owner, 50),
    workers: () => listWorkerIds(read, owner, undefined, 50),
    jobs: () => listJobSummaries(read, page),
    "jobs of a zone": () => listJobSummaries(read, { ...page, zone }),
    "audit entries": () =>
      listAuditEntries(read, { ...page, since: undefined, until: undefined, before: undefined }),
    "jobs by type and name": () => findJobPage(read, { ...page, type: "PLAN", name: "nothing" }),
    "jobs by a part of a person's name": () => findJobPage(read, { ...page, creator: "nothing" }),
    "jobs of a person": () => findJobPage(read, { ...page, createdBy: "other@example.com" }),
    "jobs QUEUED": () => findJobPage(read, { ...page, status: "QUEUED", zone }),
    "jobs PROCESSING": () => findJobPage(read, { ...page, status: "PROCESSING", zone }),
  };
  await client.query(`set role server_people; set ${spacesSetting} = '${owner}'`);
  for (const [lists, limit] of [
    [ofPage, mostOfPage],
    [ofSearch, mostOfSearch],
    [ofQueue, mostOfList],
  ] as const)
    for (const [name, list] of Object.entries(lists)) {
      [what, most] = [name, limit];
      await list();
    }
  await client.query("reset role");
  const lists = [ofPage, ofSearch, ofQueue].flatMap((some) => Object.keys(some));
  expect(count).toBeGreaterThanOrEqual(lists.length);
  return found;
}

it("of people's lists read a page, under row security, with and without statistics", async () => {
  const owners = [filled, { owner: "small", zone: "small" }];
  for (const owner of owners) expect(await wastefulLists(client, owner)).toEqual([]);
  await client.query("begin; delete from pg_statistic; commit");
  for (const owner of owners) expect(await wastefulLists(client, owner)).toEqual([]);
  await client.query("analyze");
});
