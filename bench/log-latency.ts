/**
 * The time from printing a line to its arrival at a reader of the job's
 * log stream. Each line has its time. The command, the log shipper of the agent and the server are
 * processes of their own, and this process is the reader.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { request } from "undici";
import { fill, token, type Filled } from "./lib/fill.ts";
import { eventsOf } from "./lib/events.ts";
import { agentFlags, startWindlass } from "./lib/processes.ts";
import type { ShipOrder } from "./lib/ship-process.ts";
import { signIn } from "./lib/sign-in.ts";
import { printTable, type Figure } from "./lib/table.ts";

const secret = "a password of the database";
/** The printable characters of ASCII. */
const endings = Array.from({ length: 0x7f - 0x20 }, (_, at) => String.fromCodePoint(0x20 + at));

const speeds = [
  { what: "p50 at 3 lines a second", perSecond: 3, seconds: 30, share: 0.5, goal: 10 },
  { what: "p99 at 2000 lines a second", perSecond: 2000, seconds: 15, share: 0.99, goal: 120 },
  {
    what: "p99 at one line a second, each of which may end in the start of a secret",
    perSecond: 1,
    seconds: endings.length,
    share: 0.99,
    goal: 250,
    // One for each last byte of a line, because a single one holds back few lines.
    secrets: endings.map((ending) => `${ending} ${secret}`),
    jobs: 4,
  },
];

/**
 * Prints numbered lines of 60 bytes at a steady rate, each with the time of its own write, and each
 * with another last byte.
 */
const program = `
const { writeSync } = require("node:fs");
const [perSecond, lines] = process.argv.slice(1).map(Number);
const now = () => performance.timeOrigin + performance.now();
const started = now();
let line = 0;
const print = () => {
  for (; line < lines && now() >= started + (line * 1000) / perSecond; line++)
    writeSync(1, now().toFixed(3) + " " + line + " the quick brown fox jumps over the " + String.fromCodePoint(0x20 + line % 95) + "\\n");
  if (line < lines) setTimeout(print, Math.max(0, started + (line * 1000) / perSecond - now()));
};
print();`;

const scratch = mkdtempSync(join(tmpdir(), "windlass-bench-latency-"));
let filled!: Filled;
let headers!: Record<string, string>;
const server = await startWindlass(async (directory) => {
  filled = await fill(directory, 10);
  headers = await signIn(directory, filled.busyOwner);
});

/** The latencies of the lines of one job in milliseconds. */
async function latencies(
  perSecond: number,
  seconds: number,
  secrets: readonly string[] = [secret],
): Promise<number[]> {
  const identity = { "x-worker-id": filled.busyWorker, "x-worker-token": token };
  const claim = await request(`${server.url}/api/jobs/claim`, {
    method: "POST",
    headers: identity,
  });
  const { job } = (await claim.body.json()) as { job: { id: string; attempt: number } };
  const lines = perSecond * seconds;
  const order: ShipOrder = {
    server: server.url,
    workerId: filled.busyWorker,
    workerToken: token,
    jobId: job.id,
    attempt: job.attempt,
    directory: join(scratch, job.id),
    command: process.execPath,
    args: ["-e", program, String(perSecond), String(lines)],
    secrets,
  };
  mkdirSync(order.directory);
  const stream = await request(`${server.url}/api/jobs/${job.id}/logs/stream`, { headers });
  const file = join(import.meta.dirname, "lib/ship-process.ts");
  const ship = spawn(process.execPath, [...agentFlags, file, JSON.stringify(order)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(ship, "exit");
  const found: number[] = [];
  // A chunk may end inside a line, because the file grows page by page. A line arrives with its
  // last byte.
  let rest = "";
  for await (const { event, data } of eventsOf(stream.body)) {
    if (event !== "log") continue;
    const now = performance.timeOrigin + performance.now();
    const { log_chunk: text } = JSON.parse(data) as { log_chunk: string };
    const complete = (rest + text).split("\n");
    rest = complete.pop() ?? "";
    for (const line of complete) {
      const [time, number] = line.split(" ", 2).map(Number);
      if (number !== found.length)
        throw new Error(`line ${number} arrived instead of ${found.length}`);
      found.push(now - (time ?? NaN));
    }
    if (found.length >= lines) break;
  }
  await ended;
  if (found.length !== lines) throw new Error(`${found.length} of ${lines} lines arrived`);
  return found;
}

const results: Figure[] = [];
try {
  await latencies(100, 3);
  for (const { what, perSecond, seconds, share, goal, secrets, jobs = 1 } of speeds) {
    await pause(1000);
    const all = Array.from({ length: jobs }, async (_, job) => {
      await pause((1000 / jobs) * job);
      return latencies(perSecond, seconds, secrets);
    });
    const sorted = (await Promise.all(all)).flat().toSorted((a, b) => a - b);
    const at = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] ?? NaN;
    results.push({
      row: "11",
      what,
      value: at(share),
      goal,
      better: "smaller",
      more: `${sorted.length} lines; p50 ${at(0.5).toFixed(1)}, p99 ${at(0.99).toFixed(1)}, longest ${at(1).toFixed(1)}`,
    });
  }
} finally {
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
printTable("From a line's print to a reader of the event stream, milliseconds", results);
