/**
 * The p99 of polls and claims at 1,000 a second, beside a no-op route and the
 * same requests to the prototype, whose claims wait for the same disk.
 */
import { fill, token, type Filled } from "./lib/fill.ts";
import { cpuPerRequest, p99AtRate, type Load } from "./lib/load.ts";
import { startNoop, startPrototype, startWindlass } from "./lib/processes.ts";
import { median, printTable, type Figure } from "./lib/table.ts";

const rounds = 3;
const perSecond = 1000;
const seconds = 5;
const warmUp = 30_000;

let filled!: Filled;
const windlass = await startWindlass(async (directory) => {
  filled = await fill(directory, warmUp + rounds * perSecond * (seconds + 2));
});
const yardstick = await startNoop();
const prototype = await startPrototype(warmUp + rounds * perSecond * (seconds + 2), {
  idle: [filled.idleWorker],
  busy: [filled.busyWorker],
});
const claim = (worker: string, status: 200 | 204): Load => ({
  path: "/api/jobs/claim",
  headers: { "x-worker-id": worker, "x-worker-token": token },
  status,
});
const figures: [what: string, load: Load][] = [
  ["1,000 polls a second", claim(filled.idleWorker, 204)],
  ["1,000 claims a second", claim(filled.busyWorker, 200)],
];

const results: Figure[] = [];
try {
  const noop: Load = { path: "", status: 200 };
  await cpuPerRequest(yardstick, noop, warmUp);
  for (const [what, load] of figures) {
    await cpuPerRequest(windlass, load, warmUp);
    await cpuPerRequest(prototype, load, warmUp);
    const samples: { ratio: number; noop: number; load: number; least: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const nothing = await p99AtRate(yardstick, noop, perSecond, seconds);
      const cost = await p99AtRate(windlass, load, perSecond, seconds);
      const least = await p99AtRate(prototype, load, perSecond, seconds);
      samples.push({ ratio: cost / nothing, noop: nothing, load: cost, least });
    }
    const of = (key: "ratio" | "noop" | "load" | "least") =>
      median(samples.map((sample) => sample[key]));
    const more = `${of("load").toFixed(1)} ms, no-op ${of("noop").toFixed(1)} ms, prototype ${of("least").toFixed(1)} ms (${(of("least") / of("noop")).toFixed(1)})`;
    results.push({ row: "3", what, value: of("ratio"), goal: 2, better: "smaller", more });
  }
} finally {
  await Promise.all([windlass.stop(), yardstick.stop(), prototype.stop()]);
}
printTable("99th percentile of the route / of a no-op Fastify route, milliseconds", results);
