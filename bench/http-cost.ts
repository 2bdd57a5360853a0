/**
 * The server's CPU for a claim, a poll, a heartbeat and a log
 * post, as a ratio to a Fastify route that does nothing; beside it the same requests to the prototype,
 * which show how near the goal HTTP and SQLite let anything come. All servers are real processes.
 * Rounds alternate between them, and the median ratio is printed.
 */
import { fill, token, type Filled } from "./lib/fill.ts";
import { cpuPerRequest, type Load } from "./lib/load.ts";
import { startNoop, startPrototype, startWindlass } from "./lib/processes.ts";
import { median, printTable, type Figure } from "./lib/table.ts";

const rounds = 5;
/**
 * V8 compiles during the first requests, which is not a cost of each request: a poll took 36 µs after
 * 20,000 requests, and 19 µs after 300,000.
 */
const warmUp = 100_000;
const perRound = 8000;
const noop: Load = { path: "", status: 200 };

let filled!: Filled;
const windlass = await startWindlass(async (directory) => {
  filled = await fill(directory, warmUp + rounds * perRound);
});
const yardstick = await startNoop();
const prototype = await startPrototype(warmUp + rounds * perRound, {
  idle: [filled.idleWorker],
  busy: [filled.busyWorker],
});

const workerHeaders = (id: string) => ({ "x-worker-id": id, "x-worker-token": token });
const idle = workerHeaders(filled.idleWorker);
const log = (bytes: number): Load => ({
  path: `/api/jobs/${filled.heldJob}/logs`,
  headers: idle,
  body: JSON.stringify({
    log_chunk: `${"x".repeat(79)}\n`.repeat(bytes / 80),
    stream_type: "STDOUT",
  }),
  status: 201,
});
const figures: [row: string, what: string, load: Load, goal: number][] = [
  ["2", "empty poll", { path: "/api/jobs/claim", headers: idle, status: 204 }, 0.5],
  [
    "2",
    "heartbeat",
    { path: "/api/workers/heartbeat", headers: idle, body: '{"version":"1.0.0"}', status: 200 },
    0.5,
  ],
  ["2", "log of 1 KB", log(1040), 0.4],
  ["2", "log of 16 KB", log(16_400), 0.13],
  // The last one, because afterwards the worker holds thousands of jobs, unlike a real one.
  [
    "1",
    "claim that returns a job",
    { path: "/api/jobs/claim", headers: workerHeaders(filled.busyWorker), status: 200 },
    0.33,
  ],
];

interface Sample {
  readonly ratio: number;
  /** CPU microseconds of a request to the yardstick, to Windlass and to the prototype. */
  readonly noop: number;
  readonly load: number;
  readonly least: number;
  /** The ratio that the prototype reaches. */
  readonly bound: number;
}

const results: Figure[] = [];
try {
  await cpuPerRequest(yardstick, noop, warmUp);
  for (const [row, what, load, goal] of figures) {
    await cpuPerRequest(windlass, load, warmUp);
    await cpuPerRequest(prototype, load, warmUp);
    const samples: Sample[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const nothing = await cpuPerRequest(yardstick, noop, perRound * 2);
      const cost = await cpuPerRequest(windlass, load, perRound);
      const least = await cpuPerRequest(prototype, load, perRound);
      samples.push({
        ratio: nothing / cost,
        noop: nothing,
        load: cost,
        least,
        bound: nothing / least,
      });
    }
    const of = (key: keyof Sample) => median(samples.map((sample) => sample[key]));
    const more = `${of("load").toFixed(0)} µs, no-op ${of("noop").toFixed(0)} µs, prototype ${of("least").toFixed(0)} µs (${of("bound").toFixed(2)})`;
    results.push({ row, what, value: of("ratio"), goal, better: "larger", more });
  }
} finally {
  await Promise.all([windlass.stop(), yardstick.stop(), prototype.stop()]);
}
printTable("CPU of a no-op Fastify route / CPU of the route, per request", results);
