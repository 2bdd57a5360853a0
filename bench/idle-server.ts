/**
 * The share of a core that a control plane takes without calls,
 * with SQLite and its default intervals.
 */
import { setTimeout as pause } from "node:timers/promises";
import { cpuMicroseconds, startWindlass } from "./lib/processes.ts";
import { median, printTable } from "./lib/table.ts";

const rounds = 3;
const settleSeconds = 20;
const watchSeconds = 60;

const samples: number[] = [];
const server = await startWindlass(async () => undefined);
try {
  await pause(settleSeconds * 1000);
  for (let round = 0; round < rounds; round++) {
    const before = cpuMicroseconds(server.pid);
    await pause(watchSeconds * 1000);
    samples.push((cpuMicroseconds(server.pid) - before) / (watchSeconds * 10_000));
  }
} finally {
  await server.stop();
}
printTable(`A server without calls, ${rounds} times ${watchSeconds} s`, [
  {
    row: "26",
    what: "share of a core, in per cent",
    value: median(samples),
    goal: 0.2,
    better: "smaller",
    more: samples.map((sample) => sample.toFixed(3)).join(", "),
  },
]);
