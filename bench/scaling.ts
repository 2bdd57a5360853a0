/**
 * docs/scaling.md: what runners and jobs cost one server, measured at several numbers of idle
 * runners, and the processor cores that larger deployments need by the same costs. Draws
 * docs/scaling.svg.
 *
 * Each idle runner is a worker with a waiting heartbeat and a waiting claim. They are renewed after
 * a few seconds instead of thirty, and the cost is scaled accordingly.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Agent } from "undici";
import { addWorkers, fill, token, type Filled } from "./lib/fill.ts";
import { cpuMicroseconds, startWindlass } from "./lib/processes.ts";
import { drawScaling } from "./lib/scaling-plot.ts";

const runnerCounts = [50, 200, 800];
const waitSeconds = 3;
const realWaitSeconds = 30;
const rounds = 2;
const jobs = 100;
const linesPerJob = 20;
/** Each runner runs a job an hour in the busiest hour. */
const jobsPerRunnerHour = 1;

let filled!: Filled;
const workers: string[] = [];
const server = await startWindlass(async (directory) => {
  filled = await fill(directory, jobs * 2);
  workers.push(...(await addWorkers(directory, filled.idleOwner, runnerCounts.at(-1)!)));
});
const dispatcher = new Agent({ connections: null });

async function send(worker: string, method: "POST" | "PUT", path: string, body?: object) {
  const response = await dispatcher.request({
    origin: server.url,
    method,
    path,
    headers: {
      "x-worker-id": worker,
      "x-worker-token": token,
      ...(body ? { "content-type": "application/json" } : {}),
    },
    body: body ? JSON.stringify(body) : null,
  });
  const text = await response.body.text();
  if (response.statusCode >= 300)
    throw new Error(`${path} returned ${response.statusCode}: ${text}`);
  return text;
}

const mebibytes = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;

/** One runner without a job, for so many periods. */
async function beIdle(worker: string, periods: number): Promise<void> {
  for (let period = 0; period < periods; period += 1)
    await Promise.all([
      send(worker, "POST", `/api/workers/heartbeat?wait=${waitSeconds}`, { version: "1.0.0" }),
      send(worker, "POST", `/api/jobs/claim?wait=${waitSeconds}`),
    ]);
}

/** Claims, starts, logs and ends a job. */
async function runJob(): Promise<void> {
  const worker = filled.busyWorker;
  const { job } = JSON.parse(await send(worker, "POST", "/api/jobs/claim")) as {
    job: { id: string };
  };
  await send(worker, "PUT", `/api/jobs/${job.id}/status`, { status: "PROCESSING" });
  for (let seq = 1; seq <= linesPerJob; seq += 1)
    await send(worker, "POST", `/api/jobs/${job.id}/logs`, {
      seq,
      stream_type: "STDOUT",
      log_chunk: `${"x".repeat(79)}\n`.repeat(13),
    });
  await send(worker, "PUT", `/api/jobs/${job.id}/status`, {
    status: "SUCCESS",
    last_seq: linesPerJob,
  });
}

const measured: { runners: number; cores: number; mebibytes: number }[] = [];
let jobMilliseconds: number;
try {
  // V8 compiles what is used often.
  for (let at = 0; at < jobs; at += 1) await runJob();
  const before = cpuMicroseconds(server.pid);
  for (let at = 0; at < jobs; at += 1) await runJob();
  jobMilliseconds = (cpuMicroseconds(server.pid) - before) / jobs / 1000;
  for (const runners of runnerCounts) {
    // Their connections, spread over a period so that they do not come back together.
    const spread = (periods: number) =>
      Promise.all(
        workers.slice(0, runners).map(async (worker, at) => {
          await pause((at / runners) * waitSeconds * 1000);
          await beIdle(worker, periods);
        }),
      );
    await spread(1);
    const start = cpuMicroseconds(server.pid);
    await spread(rounds);
    const perCycle = (cpuMicroseconds(server.pid) - start) / 1e6 / rounds;
    measured.push({ runners, cores: perCycle / realWaitSeconds, mebibytes: mebibytes() });
  }
} finally {
  await dispatcher.close();
  await server.stop();
}

const last = measured.at(-1)!;
const first = measured[0]!;
const idleCores = last.cores / last.runners;
const jobCores = (jobMilliseconds / 1000 / 3600) * jobsPerRunnerHour;
const memory = ((last.mebibytes - first.mebibytes) / (last.runners - first.runners)) * 1024;

for (const { runners, cores, mebibytes: size } of measured)
  console.log(
    `${runners} idle runners: ${(cores * 100).toFixed(2)} % of a core, ${size.toFixed(0)} MiB`,
  );
console.log(
  `an idle runner: ${(idleCores * 1e6).toFixed(0)} µs of CPU a second, ${memory.toFixed(0)} KiB`,
);
console.log(
  `a job with ${linesPerJob} posts of 1 KB of log: ${jobMilliseconds.toFixed(1)} ms of CPU`,
);
for (const runners of [100, 1000, 10_000])
  console.log(
    `${runners} runners with ${jobsPerRunnerHour} job an hour each: ${((idleCores + jobCores) * runners * 100).toFixed(1)} % of a core`,
  );

const file = join(import.meta.dirname, "../docs/scaling.svg");
writeFileSync(file, drawScaling({ measured, idleCores, jobCores }));
console.log(`\ndrawn: ${file}`);
