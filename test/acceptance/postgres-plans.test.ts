/** How many rows frequent statements read on PostgreSQL, with a long history and a long queue. */
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fillPostgres } from "../../bench/lib/postgres.ts";
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
import { openPostgres } from "../../control-plane/store/engines/postgres.ts";
import { findHeldBriefly, findObstacles } from "../../control-plane/store/jobs/jobs.ts";
import { bind, type Statement } from "../../control-plane/store/statement.ts";
import { findWorkerCaller, recordHeartbeat } from "../../control-plane/store/workers/workers.ts";
import { lackOfPostgres, startPostgres, type PostgresServer } from "../helpers/postgres.ts";
import { proving } from "../helpers/proving.ts";
import { skipAt } from "../helpers/tools.ts";

const lack = lackOfPostgres();
let server: PostgresServer;
beforeAll(async () => {
  if (lack === undefined) server = await startPostgres();
});
afterAll(() => server?.close());
skipAt(lack);

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

it("frequent statements read few rows with a long history and a long queue of two owners", async () => {
  const url = await server.createMigrated();
  const { owner, workers } = await fillPostgres(url, {
    finished: proving ? 1_000_000 : 100_000,
    queued: 6000,
    workers: 20,
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // The older half of the queue is another owner's, whose workers are away.
  const older = `id in (select id from jobs where status = 'QUEUED' order by id limit 3000)`;
  await client.query(`insert into users (id, email, created_at) values ('other', 'o@example.com', 1);
    update jobs set owner_id = 'other' where ${older};
    update queue_heads set owner_id = 'other' where job_id in (select id from jobs where owner_id = 'other');
    analyze; set jit = off; set plan_cache_mode = force_generic_plan`);
  const worker = workers[0]!;
  const labels = { labels: "[]", features: "[]", now: 1, after: 0, heads: 32 };
  const claims = workers.slice(0, 4).map((id, n) => ({ n, worker: id, key: n > 1 ? "key" : null }));
  const together = { owner, claims: JSON.stringify(claims), ...labels };
  const alone = { owner, worker, claim_key: "key", now: 1 };
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
  const statements: [
    name: string,
    statement: Statement<never, unknown>,
    params: Record<string, unknown>,
  ][] = [
    ["claimOwnJob", claimOwnJob, alone],
    ["claimOwnJobLeft", claimOwnJobLeft, alone],
    ["claimAnyJob", claimAnyJob, alone],
    ["claimAnyJobLeft", claimAnyJobLeft, alone],
    ["claimOwnJobs", claimOwnJobs, together],
    ["claimAnyJobs", claimAnyJobs, together],
    ["findClaimed", findClaimed, { worker, claim_key: "key", after: 0 }],
    ["findOwnFree", findOwnFree, { owner }],
    ["findAnyFree", findAnyFree, {}],
    ["recordHeartbeat", recordHeartbeat, heartbeat],
    ["findHeldBriefly", findHeldBriefly, { worker }],
    [
      "findObstacles",
      findObstacles,
      { spec: "00000000-0000-7000-8000-000000000001", target: worker },
    ],
    ["findWorkerCaller", findWorkerCaller, { id: worker }],
  ];
  const builder = await openPostgres({ url, connections: 3 });
  const found: unknown[] = [];
  const look = async (statistics: string): Promise<void> => {
    for (const [name, statement, params] of statements) {
      const compiled = statement.build(builder.read.sql);
      const given = bind(compiled, params as never).map((value) =>
        typeof value === "string" ? pg.escapeLiteral(value) : String(value),
      );
      await client.query(`begin; prepare hot as ${compiled.sql}`);
      const { rows } = await client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
        `explain (analyze, format json) execute hot${given.length > 0 ? `(${given.join()})` : ""}`,
      );
      await client.query("rollback; deallocate hot");
      for (const node of nodesOf(rows[0]!["QUERY PLAN"][0]!.Plan))
        if (isOfTable(node) && rowsRead(node) > 100)
          found.push([statistics, name, node["Node Type"], node["Index Name"], rowsRead(node)]);
    }
  };
  await look("with statistics");
  // As after a restore, until the database has collected some.
  await client.query("delete from pg_statistic");
  await look("without statistics");
  await builder.close();
  await client.end();
  expect(found).toEqual([]);
});

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

const isOfTable = (node: PlanNode): boolean =>
  (node["Relation Name"] ?? node["Index Name"]) !== undefined;

/** How many rows a node of a plan has read. */
const rowsRead = (node: PlanNode): number =>
  ((node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0)) *
  (node["Actual Loops"] ?? 1);
