/**
 * Rows 9 and 10 of the goals: a log from a child that writes line by line to the server's durable rows, against the same child with
 * `| cat > file`; and the memory of the process that ships it. Everything is a real process; rounds alternate and medians count.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { request } from "undici";
import { fill, token, type Filled } from "./lib/fill.ts";
import { startWindlass } from "./lib/processes.ts";
import type { Shipped, ShipOrder } from "./lib/ship-process.ts";
import { median, printTable } from "./lib/table.ts";

const rounds = 5;
/** As the fixture `chatty` writes; 56 bytes a line, and each line is a write of its own. */
const lineBytes = 56;
const megabytes = (count: number): number => Math.round((count * 1_000_000) / lineBytes);
const program = `BEGIN { for (i = 1; i <= lines; i++) { printf "line %07d the quick brown fox jumps over the lazy dog\\n", i; fflush() } }`;
const secrets = ["wlw_0123456789abcdefghijklmnopqrstuvwxyzABCDEF", "a password of the database"];

const directory = mkdtempSync(join(tmpdir(), "windlass-bench-log-"));
let filled!: Filled;
const server = await startWindlass(async (data) => {
  filled = await fill(data, 4 * rounds + 10);
});

/** Claims a job and ships the output of a child as its log. */
async function ship(lines: number): Promise<Shipped> {
  const headers = { "x-worker-id": filled.busyWorker, "x-worker-token": token };
  const claim = await request(`${server.url}/api/jobs/claim`, { method: "POST", headers });
  const { job } = (await claim.body.json()) as { job: { id: string; attempt: number } };
  const order: ShipOrder = {
    server: server.url,
    workerId: filled.busyWorker,
    workerToken: token,
    jobId: job.id,
    attempt: job.attempt,
    directory: join(directory, job.id),
    command: "awk",
    args: ["-v", `lines=${lines}`, program],
    secrets,
  };
  mkdirSync(order.directory);
  // Memory is bounded as the agent's own start bounds it.
  const flags = ["--max-semi-space-size=1", "--max-old-space-size=64"];
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...flags,
    join(import.meta.dirname, "lib/ship-process.ts"),
    JSON.stringify(order),
  ]);
  rmSync(order.directory, { recursive: true });
  return JSON.parse(stdout) as Shipped;
}

/** Milliseconds of the same child through a pipe into a file. */
function pipe(lines: number): number {
  const file = join(directory, "piped");
  const started = performance.now();
  const script = `awk -v lines=${lines} '${program}' | cat > "$1"`;
  const { status } = spawnSync("sh", ["-c", script, "sh", file]);
  const took = performance.now() - started;
  if (status !== 0 || statSync(file).size < lines * (lineBytes - 1)) {
    throw new Error("the yardstick did not run");
  }
  return took;
}

/** Milliseconds of the child alone on a file: what terraform itself would see without an agent. */
function alone(lines: number): number {
  const started = performance.now();
  const script = `awk -v lines=${lines} '${program}' > "$1"`;
  spawnSync("sh", ["-c", script, "sh", join(directory, "alone")]);
  return performance.now() - started;
}

const times: { pipe: number; ship: Shipped; alone: number }[] = [];
const memory: { small: number; large: number }[] = [];
try {
  await ship(megabytes(5));
  for (let round = 0; round < rounds; round++) {
    const lines = megabytes(60);
    times.push({ pipe: pipe(lines), ship: await ship(lines), alone: alone(lines) });
  }
  for (let round = 0; round < 3; round++) {
    const small = (await ship(megabytes(22))).peakKilobytes;
    memory.push({ small, large: (await ship(megabytes(660))).peakKilobytes });
  }
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}

const of = (value: (one: (typeof times)[number]) => number): number => median(times.map(value));
const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`;
const cpu = of(({ ship }) => ship.cpuMilliseconds / 60).toFixed(1);
printTable("Log of 60 MB, line by line, from a child to the server's durable rows", [
  {
    row: "9",
    what: "throughput to that of `child | cat > file`",
    value: of((one) => one.pipe / one.ship.milliseconds),
    goal: 0.33,
    better: "larger",
    more: `${seconds(of(({ ship }) => ship.milliseconds))}, pipe ${seconds(of((one) => one.pipe))}; agent's CPU ${cpu} ms/MB`,
  },
  {
    row: "9",
    what: "time of the child itself to that of `child > file`",
    value: of((one) => one.ship.commandMilliseconds / one.alone),
    goal: 1.1,
    better: "smaller",
    more: `${seconds(of(({ ship }) => ship.commandMilliseconds))}, alone ${seconds(of((one) => one.alone))}`,
  },
  {
    row: "10",
    what: "agent's peak memory at 660 MB to that at 22 MB",
    value: median(memory.map(({ small, large }) => large / small)),
    goal: 1.1,
    better: "smaller",
    more: `${Math.round(median(memory.map(({ large }) => large)) / 1024)} MiB`,
  },
]);
