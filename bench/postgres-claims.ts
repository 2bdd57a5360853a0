/**
 * Claims on PostgreSQL by one, two and four control planes, with
 * ten thousand and a million finished jobs (WINDLASS_PROVE=1: ten million too).
 *
 * The yardstick is pgbench, which runs the statement of the server for one claim at a time, planned
 * once, as the server has it, without HTTP, credentials or keys. Both take their turns on the same
 * database, whose commits are flushed to disk. In between, the jobs that were claimed end, so that
 * no worker holds thousands, and the workers report.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { Pool } from "undici";
import { PostgresQueries } from "../control-plane/store/engines/postgres-connection.ts";
import { claimOwnJobs } from "../control-plane/store/claims/claims-together.ts";
import { token } from "./lib/fill.ts";
import { onPostgres, startFilledPostgres, type FilledPostgres } from "./lib/postgres.ts";
import { cpuMicroseconds, startWindlass, type BenchServer } from "./lib/processes.ts";
import { median, printTable, type Figure } from "./lib/table.ts";

const rounds = 5;
const perRound = 1600;
const warmUp = 4000;
const clients = 16;
const lanes = 64;
const sizes = [10_000, 1_000_000, ...(process.env["WINDLASS_PROVE"] === "1" ? [10_000_000] : [])];
const counts = [1, 2, 4];

for (const finished of sizes) {
  const queued = 4 * warmUp + (rounds + 1) * counts.length * 2 * perRound;
  const filled = await startFilledPostgres({ finished, queued, workers: lanes });
  const servers: BenchServer[] = [];
  const artifacts = await mkdtemp(join(tmpdir(), "bench-artifacts-"));
  try {
    for (let n = 0; n < Math.max(...counts); n += 1)
      servers.push(
        await startWindlass(
          async () => undefined,
          onPostgres(filled.url, pathToFileURL(artifacts).href),
        ),
      );
    await measure(finished, filled, servers);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await filled.close();
    await rm(artifacts, { recursive: true });
  }
}

interface Sample {
  /** Claims a second over HTTP / of pgbench. */
  readonly ratio: number;
  readonly perSecond: number;
  /** CPU for each claim: of the control planes, of PostgreSQL, and of this process. */
  readonly server: number;
  readonly database: number;
  readonly client: number;
  /** CPU of PostgreSQL for each claim of pgbench. */
  readonly alone: number;
}

async function measure(
  finished: number,
  filled: FilledPostgres,
  servers: readonly BenchServer[],
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "bench-pgbench-"));
  const pgbench = await pgbenchOf(filled, folder);
  await endClaimed(filled.url);
  for (const server of servers) await claimAll(filled, [server], warmUp);
  await pgbench(perRound);
  const samples = new Map(counts.map((count) => [count, [] as Sample[]]));
  for (let round = 0; round < rounds; round += 1)
    for (const count of counts) {
      const some = servers.slice(0, count);
      await endClaimed(filled.url);
      const [yardstick, alone] = await perClaim([() => filled.cpuMicroseconds()], () =>
        pgbench(perRound),
      );
      const clocks = [
        () => some.reduce((sum, { pid }) => sum + cpuMicroseconds(pid), 0),
        () => filled.cpuMicroseconds(),
        () => cpuMicroseconds(process.pid),
      ];
      const [perSecond, server, database, client] = await perClaim(clocks, () =>
        claimAll(filled, some, perRound),
      );
      const ratio = perSecond! / yardstick!;
      samples.get(count)!.push({
        ratio,
        perSecond: perSecond!,
        server: server!,
        database: database!,
        client: client!,
        alone: alone!,
      });
    }
  await rm(folder, { recursive: true });
  const of = (count: number, key: keyof Sample) =>
    median(samples.get(count)!.map((sample) => sample[key]));
  const shown = (count: number, key: keyof Sample) => of(count, key).toFixed(0);
  const figures: Figure[] = counts.map((count) => ({
    row: "8",
    what: `${count} control plane${count > 1 ? "s" : ""}: claims over HTTP / of pgbench`,
    value: of(count, "ratio"),
    goal: 1.3,
    better: "larger",
    more: `${shown(count, "perSecond")} a second; µs of CPU for each: control plane ${shown(count, "server")}, PostgreSQL ${shown(count, "database")} (for pgbench ${shown(count, "alone")}), this client ${shown(count, "client")}`,
  }));
  figures.push({
    row: "21",
    what: "claims per CPU second of two control planes / of one",
    value: median(
      samples.get(2)!.map((sample, round) => work(samples.get(1)![round]!) / work(sample)),
    ),
    goal: 0.8,
    better: "larger",
  });
  printTable(`with ${finished} finished jobs on PostgreSQL`, figures);
}

function work({ server, database }: Sample): number {
  return server + database;
}

/** Returns the claims a second, and how much of each clock one of them took. */
async function perClaim(
  clocks: readonly (() => number)[],
  claim: () => Promise<number>,
): Promise<number[]> {
  const before = clocks.map((clock) => clock());
  const perSecond = await claim();
  return [perSecond, ...clocks.map((clock, index) => (clock() - before[index]!) / perRound)];
}

/** Ends what was claimed, and has all workers online: a call of one that is not costs more. */
async function endClaimed(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `update jobs set status = 'SUCCESS', ended_at = claimed_at, released_at = claimed_at where status = 'PROCESSING';
    update workers set offline_at = null, last_heartbeat_at = ${Date.now()}`,
  );
  await client.end();
}

/** Claims over HTTP, each lane for a worker of its own. Returns the claims a second. */
async function claimAll(
  { workers }: FilledPostgres,
  servers: readonly BenchServer[],
  amount: number,
): Promise<number> {
  const pools = servers.map(({ url }) => new Pool(url, { connections: lanes / servers.length }));
  let left = amount;
  const lane = async (_: unknown, index: number) => {
    const pool = pools[index % pools.length]!;
    const headers = { "x-worker-id": workers[index]!, "x-worker-token": token };
    while (left > 0) {
      left -= 1;
      const response = await pool.request({ method: "POST", path: "/api/jobs/claim", headers });
      await response.body.dump();
      // Another may have taken the job that this one found.
      if (response.statusCode === 204) left += 1;
      else if (response.statusCode !== 200)
        throw new Error(`a claim returned ${response.statusCode}`);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: lanes }, lane));
  const perSecond = (amount * 1000) / (performance.now() - start);
  await Promise.all(pools.map((pool) => pool.close()));
  return perSecond;
}

/** Returns a function that claims by pgbench and returns the claims a second. */
async function pgbenchOf(
  { url, owner, workers }: FilledPostgres,
  folder: string,
): Promise<(amount: number) => Promise<number>> {
  const runner = { query: () => Promise.reject(new Error("it only builds")) };
  const { sql, bindings } = claimOwnJobs.build(new PostgresQueries(runner).sql);
  const values: Record<string, string | number> = {
    claims: JSON.stringify([{ n: 0, worker: workers[0], key: null }]),
    owner,
    labels: "[]",
    features: "[]",
    now: Date.now(),
    after: 0,
    heads: 20,
  };
  const named = sql.replaceAll(/\$(\d+)/g, (_, n) => {
    const { name } = bindings[Number(n) - 1] as { name: string };
    return `:${name}`;
  });
  const script = join(folder, "claim.sql");
  await writeFile(script, `${named.replaceAll(/\s+/g, " ")};\n`);
  const { searchParams, pathname } = new URL(url);
  const args = [
    `--host=${searchParams.get("host")}`,
    `--username=${searchParams.get("user")}`,
    "--no-vacuum",
    "--protocol=prepared",
    `--file=${script}`,
    `--client=${clients}`,
    ...Object.entries(values).map(([name, value]) => `--define=${name}=${value}`),
  ];
  return async (amount) => {
    const each = [`--transactions=${amount / clients}`, pathname.slice(1)];
    const env = {
      ...process.env,
      PGOPTIONS: "-c jit=off -c plan_cache_mode=force_generic_plan",
    };
    const { stdout } = await promisify(execFile)("pgbench", [...args, ...each], { env });
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
  };
}
