/**
 * The throughput of a log from a process that writes line by line
 * to the server's durable rows, compared with `process | cat > file`, and the memory of the process
 * that ships the log. All processes are real. Rounds alternate, and medians are printed.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { request } from "undici";
import { fill, token, type Filled } from "./lib/fill.ts";
import { agentFlags, agentMalloc, startWindlass } from "./lib/processes.ts";
import type { Shipped, ShipOrder } from "./lib/ship-process.ts";
import { median, printTable } from "./lib/table.ts";

const rounds = 5;
/** The lines of the fixture `chatty`: 56 bytes each, and a write for each line. */
const lineBytes = 56;
const megabytes = (count: number): number => Math.round((count * 1_000_000) / lineBytes);
const program = `BEGIN { for (i = 1; i <= lines; i++) { printf "line %07d the quick brown fox jumps over the lazy dog\\n", i; fflush() } }`;
const secrets = ["wlw_0123456789abcdefghijklmnopqrstuvwxyzABCDEF", "a password of the database"];

const directory = mkdtempSync(join(tmpdir(), "windlass-bench-log-"));
let filled!: Filled;
const server = await startWindlass(async (data) => {
  filled = await fill(data, 4 * rounds + 10);
});

/** Claims a job and ships the output of a process as its log, to an address of the server. */
async function ship(lines: number, address = server.url): Promise<Shipped> {
  const headers = { "x-worker-id": filled.busyWorker, "x-worker-token": token };
  const claim = await request(`${server.url}/api/jobs/claim`, { method: "POST", headers });
  const { job } = (await claim.body.json()) as { job: { id: string; attempt: number } };
  const order: ShipOrder = {
    server: address,
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
  const file = join(import.meta.dirname, "lib/ship-process.ts");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...agentFlags, file, JSON.stringify(order)],
    { env: { ...process.env, ...agentMalloc } },
  );
  rmSync(order.directory, { recursive: true });
  return JSON.parse(stdout) as Shipped;
}

/** Returns the milliseconds of the same process with a pipe into a file. */
function pipe(lines: number): number {
  const file = join(directory, "piped");
  const started = performance.now();
  const script = `awk -v lines=${lines} '${program}' | cat > "$1"`;
  const { status } = spawnSync("sh", ["-c", script, "sh", file]);
  const took = performance.now() - started;
  if (status !== 0 || statSync(file).size < lines * (lineBytes - 1)) {
    throw new Error("the baseline did not run");
  }
  return took;
}

/** A proxy that delays every response of the server. */
async function far(milliseconds: number): Promise<{ url: string; close(): void }> {
  const { port } = new URL(server.url);
  const proxy = createServer((near) => {
    const remote = connect(Number(port), "127.0.0.1");
    near.pipe(remote);
    remote.on("data", (data) => setTimeout(() => near.write(data), milliseconds));
    remote.on("close", () => near.destroy());
    for (const socket of [near, remote]) socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return { url, close: () => proxy.close() };
}

const times: { pipe: number; ship: Shipped }[] = [];
const memory: { small: number; large: number; slow: number }[] = [];
try {
  await ship(megabytes(5));
  for (let round = 0; round < rounds; round++) {
    const lines = megabytes(60);
    times.push({ pipe: pipe(lines), ship: await ship(lines) });
  }
  const slowly = await far(200);
  for (let round = 0; round < 3; round++) {
    memory.push({
      small: (await ship(megabytes(22))).peakKilobytes,
      large: (await ship(megabytes(660))).peakKilobytes,
      slow: (await ship(megabytes(22), slowly.url)).peakKilobytes,
    });
  }
  slowly.close();
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}

const of = (value: (one: (typeof times)[number]) => number): number => median(times.map(value));
const peak = (value: (one: (typeof memory)[number]) => number): number => median(memory.map(value));
const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`;
const mebibytes = (kilobytes: number): string => `${Math.round(kilobytes / 1024)} MiB`;
const small = mebibytes(peak((one) => one.small));
printTable("Log from a child that writes 60 MB line by line to the server's durable rows", [
  {
    row: "9",
    what: "throughput to that of `child | cat > file`",
    value: of((one) => one.pipe / one.ship.milliseconds),
    goal: 0.33,
    better: "larger",
    more:
      `${seconds(of(({ ship }) => ship.milliseconds))} (the child itself ${seconds(of(({ ship }) => ship.commandMilliseconds))}), ` +
      `pipe ${seconds(of((one) => one.pipe))}; agent's CPU ${of(({ ship }) => ship.cpuMilliseconds / 60).toFixed(1)} ms/MB`,
  },
  {
    row: "10",
    what: "agent's peak memory at 660 MB to that at 22 MB",
    value: peak((one) => one.large / one.small),
    goal: 1.1,
    better: "smaller",
    more: `${mebibytes(peak((one) => one.large))}, ${small}`,
  },
  {
    row: "10",
    what: "the same at 22 MB, with a server that responds 200 ms late to without",
    value: peak((one) => one.slow / one.small),
    goal: 1.1,
    better: "smaller",
    more: `${mebibytes(peak((one) => one.slow))}, ${small}`,
  },
]);
