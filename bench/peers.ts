/**
 * Windlass over HTTP, durable, beside other queues of Node that run
 * in one process with their client, without HTTP and credentials.
 *
 * Row 5: queued jobs claimed and completed a second. Row 6: the time from the call that queues a job
 * until one of 1,000 waiting runners has it. The queues take turns in one run, on a PostgreSQL that
 * flushes every commit and on a Redis with its default settings, both started here. What is not
 * installed is named and left out. `bench/peers/` has the queues; npm installs them on first use.
 */
import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { lackOfPostgres, startPostgres } from "../test/helpers/store/postgres.ts";
import { flushMilliseconds } from "./lib/flush.ts";
import { startPrototypeQueue, startQueue, type Queue } from "./lib/queue.ts";
import { stop } from "./lib/processes.ts";
import { median, printTable, type Figure } from "./lib/table.ts";

const rounds = 3;
const lanes = 32;
const parked = 1000;
const wakes = 60;
const folder = join(import.meta.dirname, "peers");

/** A queue beside Windlass. */
interface Peer {
  readonly name: string;
  /** How many jobs a round takes, so that a round takes seconds at most. */
  readonly jobs: number;
  /** The goals of Windlass to it. */
  readonly throughput: number;
  readonly latency?: number;
}
const onPostgres: readonly Peer[] = [
  { name: "graphile-worker", jobs: 1000, throughput: 3 },
  { name: "pg-boss", jobs: 300, throughput: 15, latency: 0.01 },
];
const onRedis: readonly Peer[] = [{ name: "BullMQ", jobs: 5000, throughput: 0.5, latency: 0.75 }];
const windlassJobs = 1500;
/** V8 compiles more code for them than for a queue in a process. */
const warmUpJobs = 20_000;

interface Running extends Peer, Queue {}

const closers: (() => Promise<unknown>)[] = [];
const absent: string[] = [];
try {
  await install();
  const running = [...(await startOnPostgres()), ...(await startOnRedis())];
  const windlass = await startQueue({ jobs: warmUpJobs + windlassJobs * (rounds + 2), parked });
  closers.push(() => windlass.close());
  const prototype = await startPrototypeQueue({
    jobs: warmUpJobs + windlassJobs * rounds,
    parked,
  });
  closers.push(() => prototype.close());
  const figures = await timeThroughput(windlass, prototype, running);
  figures.push(...(await timeLatency(windlass, prototype, running)));
  printTable("Windlass over HTTP, durable, to queues in one process", figures);
  for (const line of absent) console.log(line);
} finally {
  for (const close of closers.toReversed()) await close();
}

async function timeThroughput(
  windlass: Queue,
  prototype: Queue,
  peers: readonly Running[],
): Promise<Figure[]> {
  const all = [{ ...windlass, name: "Windlass", jobs: windlassJobs }, ...peers];
  for (const { drain } of [windlass, prototype]) await drain(warmUpJobs, lanes);
  const rates = new Map(all.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round <= rounds; round += 1)
    for (const { name, jobs, drain } of all) {
      const milliseconds = await drain(jobs, lanes);
      // The first round warms up.
      if (round > 0) rates.get(name)!.push((jobs * 1000) / milliseconds);
    }
  const own = rates.get("Windlass")!;
  const least: number[] = [];
  for (let round = 0; round < rounds; round += 1)
    least.push((windlassJobs * 1000) / (await prototype.drain(windlassJobs, lanes)));
  console.log(`The prototype of bench/lib, over HTTP and durable: ${rate(least)}`);
  return peers.map(({ name, throughput }) => ({
    row: "5",
    what: `jobs claimed and completed a second / ${name}`,
    value: median(rates.get(name)!.map((other, round) => own[round]! / other)),
    goal: throughput,
    better: "larger",
    more: `${rate(own)}, ${name} ${rate(rates.get(name)!)}`,
  }));
}

function rate(values: readonly number[]): string {
  return `${median(values).toFixed(0)}/s`;
}

async function timeLatency(
  windlass: Queue,
  prototype: Queue,
  peers: readonly Running[],
): Promise<Figure[]> {
  const own = median(await windlass.wake(wakes, parked));
  const least = median(await prototype.wake(wakes, parked));
  console.log(
    `The prototype, over HTTP and durable: ${least.toFixed(2)} ms until a waiting runner has a job.`,
  );
  console.log(
    `A durable commit of one row in SQLite: ${median(flushMilliseconds(200)).toFixed(2)} ms. A job is claimed after two.`,
  );
  const figures: Figure[] = [];
  for (const { name, latency, wake } of peers) {
    if (latency === undefined) continue;
    const other = median(await wake(wakes, parked));
    figures.push({
      row: "6",
      what: `p50 from queueing a job until a waiting runner has it / ${name}`,
      value: own / other,
      goal: latency,
      better: "smaller",
      more: `${own.toFixed(2)} ms, ${name} ${other.toFixed(2)} ms`,
    });
  }
  return figures;
}

/** Installs the queues if they are not there. They are no dependencies of Windlass. */
async function install(): Promise<void> {
  if (existsSync(join(folder, "node_modules"))) return;
  console.log("npm installs graphile-worker, pg-boss and BullMQ into bench/peers, once.");
  await execa("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], {
    cwd: folder,
    stdio: "inherit",
  });
}

async function startOnPostgres(): Promise<Running[]> {
  const lack = lackOfPostgres();
  if (lack !== undefined) return leaveOut(onPostgres, lack);
  const server = await startPostgres({ isDurable: true });
  closers.push(() => server.close());
  const running: Running[] = [];
  for (const peer of onPostgres) running.push(await startPeer(peer, await server.create()));
  return running;
}

async function startOnRedis(): Promise<Running[]> {
  const directory = mkdtempSync(join(tmpdir(), "bench-redis-"));
  closers.push(async () => rmSync(directory, { recursive: true }));
  const socket = join(directory, "redis");
  const server = spawn(
    "redis-server",
    ["--port", "0", "--unixsocket", socket, "--dir", directory],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const failed = await started(server, /ready to accept connections/i);
  if (failed !== undefined) return leaveOut(onRedis, "needs redis-server on the PATH");
  closers.push(() => stop(server));
  const running: Running[] = [];
  for (const peer of onRedis) running.push(await startPeer(peer, socket));
  return running;
}

function leaveOut(peers: readonly Peer[], why: string): [] {
  absent.push(...peers.map(({ name }) => `${name}: not measured, ${why}`));
  return [];
}

/** Waits until a server prints that it is ready. Returns why it will not. */
async function started(server: ChildProcess, ready: RegExp): Promise<Error | undefined> {
  let printed = "";
  return new Promise((resolve) => {
    server.once("error", resolve);
    server.once("exit", () => resolve(new Error(printed)));
    server.stdout!.on("data", (data) => {
      printed += data;
      if (ready.test(printed)) resolve(undefined);
    });
  });
}

async function startPeer(peer: Peer, address: string): Promise<Running> {
  const child = fork(join(folder, "peer.mjs"), [peer.name, address]);
  const reply = async () => {
    const ended = new AbortController();
    child.once("exit", () => ended.abort(new Error(`${peer.name} ended`)));
    const [value] = (await once(child, "message", { signal: ended.signal })) as [unknown];
    return value;
  };
  const ask = async (call: string, ...args: number[]) => {
    child.send({ call, args });
    return reply();
  };
  await reply();
  closers.push(async () => {
    child.send({ call: "close" });
    if (child.exitCode === null) await once(child, "exit");
  });
  return {
    ...peer,
    drain: async (jobs, lanes) => (await ask("drain", jobs, lanes)) as number,
    wake: async (jobs, parked) => (await ask("wake", jobs, parked)) as number[],
  };
}
