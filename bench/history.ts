/**
 * Row 4 of the goals: what a claim, and the end of the job, cost the server with a million finished jobs, as a ratio to a hundred thousand.
 * Two real servers; rounds alternate between them and the median ratio counts.
 */
import { join } from "node:path";
import Database from "better-sqlite3";
import { Pool } from "undici";
import { fill, token } from "./lib/fill.ts";
import { cpuMicroseconds, startWindlass, type BenchServer } from "./lib/processes.ts";
import { median, printTable } from "./lib/table.ts";

const rounds = 7;
const perRound = 600;
const warmUp = 3000;
const lanes = 16;

interface Filled {
  readonly server: BenchServer;
  readonly headers: Record<string, string>;
}

const few = await startWith(100_000);
const many = await startWith(1_000_000);
try {
  for (const { server, headers } of [few, many]) await claimAndEnd(server, headers, warmUp);
  const ratios: number[] = [];
  const costs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = await claimAndEnd(few.server, few.headers, perRound);
    const after = await claimAndEnd(many.server, many.headers, perRound);
    ratios.push(before / after);
    costs.push(after);
  }
  printTable("CPU with 100,000 finished jobs / CPU with 1,000,000", [
    {
      row: "4",
      what: "claim, start and end of a job",
      value: median(ratios),
      goal: 0.9,
      better: "larger",
      more: `${median(costs).toFixed(0)} µs with a million`,
    },
  ]);
} finally {
  await Promise.all([few.server.stop(), many.server.stop()]);
}

async function startWith(finished: number): Promise<Filled> {
  let headers = {};
  const server = await startWindlass(async (directory) => {
    const { busyWorker } = await fill(directory, warmUp + rounds * perRound);
    headers = { "x-worker-id": busyWorker, "x-worker-token": token };
    finish(join(directory, "windlass.db"), finished);
  });
  return { server, headers };
}

/** Gives all jobs to a hundred configurations, and each of these so many finished deployments before them. */
function finish(file: string, amount: number): void {
  const db = new Database(file);
  db.pragma("synchronous = OFF");
  const columns = db
    .prepare<[], { name: string }>("select name from pragma_table_info('jobs')")
    .all()
    .map(({ name }) => name);
  const set: Record<string, string> = {
    // Ids sort by time: these are older than all that wait.
    id: "printf('00000000-0000-7000-8000-%012d', n)",
    job_type: "'DEPLOY'",
    status: "'SUCCESS'",
    ...Object.fromEntries(
      ["claimed_at", "started_at", "ended_at", "released_at"].map((column) => [column, "1"]),
    ),
  };
  const values = columns.map((column) => set[column] ?? `q.${column}`).join();
  db.exec(`
    create temp table few as select *, row_number() over () - 1 as place from (select * from jobs where status = 'QUEUED' limit 100);
    update jobs set spec_id = (select spec_id from few where place = jobs.rowid % 100) where status = 'QUEUED';
    insert into jobs (${columns.join()}) with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${amount})
      select ${values} from numbers join few as q on q.place = n % 100;
    analyze`);
  db.close();
}

/** Claims, starts and ends so many jobs; answers the server's CPU microseconds per job. */
async function claimAndEnd(
  { url, pid }: BenchServer,
  headers: Record<string, string>,
  amount: number,
): Promise<number> {
  const pool = new Pool(url, { connections: lanes });
  const ask = async (method: "POST" | "PUT", path: string, body: unknown, status: number) => {
    const json = { ...headers, "content-type": "application/json" };
    const answer = await pool.request({ method, path, headers: json, body: JSON.stringify(body) });
    const text = await answer.body.text();
    if (answer.statusCode !== status)
      throw new Error(`${path} answered ${answer.statusCode} ${text}`);
    return text;
  };
  let left = amount;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      const { job } = JSON.parse(await ask("POST", "/api/jobs/claim", {}, 200)) as {
        job: { id: string };
      };
      const path = `/api/jobs/${job.id}/status`;
      await ask("PUT", path, { status: "PROCESSING" }, 200);
      await ask("PUT", path, { status: "SUCCESS" }, 200);
    }
  };
  const before = cpuMicroseconds(pid);
  await Promise.all(Array.from({ length: lanes }, lane));
  await pool.close();
  return (cpuMicroseconds(pid) - before) / amount;
}
