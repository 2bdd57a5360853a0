/**
 * The resident memory of an agent without a job, as a ratio to a bare
 * Node that waits, and the agent's share of a core. The agent has the default intervals: a waiting
 * claim and a waiting heartbeat, each renewed every 30 s. It is the one of a build, as operators
 * install it; its compile cache is full after the first round.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { buildWindlass } from "./lib/build.ts";
import { fill, type Filled } from "./lib/fill.ts";
import { cpuMicroseconds, startAgent, startWindlass, stop } from "./lib/processes.ts";
import { median, printTable } from "./lib/table.ts";

const rounds = 3;
const settleSeconds = 20;
const watchSeconds = 60;

const scratch = mkdtempSync(join(tmpdir(), "windlass-bench-idle-"));
const windlass = await buildWindlass(scratch);
let filled!: Filled;
const server = await startWindlass(async (directory) => {
  filled = await fill(directory, 0);
});

const residentMebibytes = ({ pid }: ChildProcess): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

const samples: { agent: number; bare: number; cpu: number }[] = [];
try {
  for (let round = 0; round < rounds; round++) {
    const bare = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1e9)"]);
    const agent = startAgent(server.url, filled.busyWorker, join(scratch, "agent"), {}, windlass);
    await pause(settleSeconds * 1000);
    const before = cpuMicroseconds(agent.pid!);
    await pause(watchSeconds * 1000);
    samples.push({
      cpu: (cpuMicroseconds(agent.pid!) - before) / (watchSeconds * 10_000),
      agent: residentMebibytes(agent),
      bare: residentMebibytes(bare),
    });
    await Promise.all([stop(agent), stop(bare)]);
  }
} finally {
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
const of = (key: "agent" | "bare" | "cpu"): number => median(samples.map((sample) => sample[key]));
printTable(`An agent without a job, ${rounds} times ${watchSeconds} s`, [
  {
    row: "13",
    what: "resident memory / that of a bare Node",
    value: median(samples.map(({ agent, bare }) => agent / bare)),
    goal: 1.6,
    better: "smaller",
    more: `${of("agent").toFixed(0)} MiB, bare ${of("bare").toFixed(0)} MiB`,
  },
  {
    row: "13",
    what: "share of a core, in per cent",
    value: of("cpu"),
    goal: 0.1,
    better: "smaller",
    more: samples.map(({ cpu }) => cpu.toFixed(3)).join(", "),
  },
]);
