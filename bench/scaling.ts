/**
 * Row 7 of docs/figures.md and docs/scaling.md: what runners and jobs cost one server. One process
 * simulates several numbers of runners, a tenth of which run jobs with logs. Draws docs/scaling.svg,
 * with the processor cores that larger deployments need by the same costs.
 *
 * A runner without a job has a waiting claim, which it renews every 30 seconds as its heartbeat. A
 * runner with a job has a waiting heartbeat and posts 1 KB of log a second; once more, with 2,000
 * runners, ten times a second, which is as often as an agent ever does.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { addWorkers, fill, type Filled } from "./lib/fill.ts";
import { cpuMicroseconds, startWindlass } from "./lib/processes.ts";
import { Runners, type JobLoad } from "./lib/runners.ts";
import { drawScaling, type Measured } from "./lib/scaling-plot.ts";
import { printTable, type Figure } from "./lib/table.ts";

const runnerCounts = [100, 500, 1000, 2000, 5000];
/** The number of runners in the goal. */
const goalRunners = 2000;
const withJobs = 0.1;
const seconds = 30;
const connectMilliseconds = 2;
const normal: JobLoad = { posts: 20, postsPerSecond: 1 };
const talkative: JobLoad = { posts: 200, postsPerSecond: 10 };
/** To know the cost of a runner without a job, claims wait so long instead of 30 seconds. */
const shortSeconds = 3;
const idleRunners = 500;
const jobs = 100;
/** Each runner runs a job an hour in the busiest hour. */
const jobsPerRunnerHour = 1;

const most = runnerCounts.at(-1)!;
let filled!: Filled;
let idle: string[] = [];
let busy: string[] = [];
const server = await startWindlass(async (directory) => {
  // Each runner with a job runs two or three in a measurement.
  const queued = runnerCounts.reduce((sum, count) => sum + count * withJobs * 4, jobs * 2);
  filled = await fill(directory, queued + goalRunners * withJobs * 4);
  idle = await addWorkers(directory, filled.idleOwner, most);
  busy = await addWorkers(directory, filled.busyOwner, most * withJobs);
});

const mebibytes = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;

interface Load extends Measured {
  readonly load: JobLoad;
  readonly mebibytes: number;
  readonly descriptors: number;
}

/** Has so many runners live for a while. */
async function measure(count: number, load: JobLoad): Promise<Load> {
  const runners = new Runners(server.url);
  // They connect one after another, and are spread over a period as if they had long been there.
  const connecting = count * connectMilliseconds;
  const lives = [
    ...idle.slice(0, count * (1 - withJobs)).map(async (worker, at, all) => {
      await pause((at / all.length) * connecting);
      await runners.stayIdle(worker, seconds, (at % seconds) + 1);
    }),
    ...busy.slice(0, count * withJobs).map(async (worker, at, all) => {
      await pause((at / all.length) * connecting);
      await runners.stayBusy(worker, seconds, load);
    }),
  ];
  let isOver = false;
  const failed = Promise.all(lives).catch((error: unknown) => {
    if (!isOver) throw error;
  });
  await Promise.race([failed, pause(connecting + 2000)]);
  runners.forget();
  const start = cpuMicroseconds(server.pid);
  const begun = performance.now();
  await Promise.race([failed, pause(seconds * 1000)]);
  const cores = (cpuMicroseconds(server.pid) - start) / 1000 / (performance.now() - begun);
  const p99 = new Map(
    [...runners.times].map(([call, times]) => [
      call,
      times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!,
    ]),
  );
  const descriptors = readdirSync(`/proc/${server.pid}/fd`).length;
  const size = mebibytes();
  isOver = true;
  await runners.close();
  await Promise.allSettled(lives);
  await failed;
  console.log(
    [
      `${count} runners, ${load.postsPerSecond} KB/s: ${(cores * 100).toFixed(1)} % of a core`,
      `${size.toFixed(0)} MiB`,
      `${descriptors} descriptors`,
      ...[...p99].map(([call, value]) => `${call} ${value.toFixed(1)}`),
      // Fewer than wanted if the machine has too little time for server and runners.
      `${((runners.times.get("log")?.length ?? 0) / seconds).toFixed(0)} of ${count * withJobs * load.postsPerSecond} posts a second`,
      `${runners.resets} connections reset`,
    ].join(", "),
  );
  return { load, runners: count, cores, mebibytes: size, descriptors };
}

/** The cores for each runner without a job. */
async function costOfIdle(): Promise<number> {
  const runners = new Runners(server.url);
  const spread = (periods: number) =>
    Promise.all(
      idle.slice(0, idleRunners).map(async (worker, at) => {
        await pause((at / idleRunners) * shortSeconds * 1000);
        for (let period = 0; period < periods; period += 1)
          await runners.beIdle(worker, shortSeconds);
      }),
    );
  await spread(1);
  const periods = 3;
  const start = cpuMicroseconds(server.pid);
  await spread(periods);
  const each = (cpuMicroseconds(server.pid) - start) / 1e6 / periods / idleRunners;
  await runners.close();
  return each / seconds;
}

/** The CPU milliseconds of a job. */
async function costOfJob(): Promise<number> {
  const runners = new Runners(server.url);
  const run = async () => {
    for (let at = 0; at < jobs; at += 1)
      await runners.runJob(filled.busyWorker, { ...normal, postsPerSecond: Infinity });
  };
  // V8 compiles what is used often.
  await run();
  const before = cpuMicroseconds(server.pid);
  await run();
  await runners.close();
  return (cpuMicroseconds(server.pid) - before) / jobs / 1000;
}

const measured: Load[] = [];
let jobMilliseconds: number;
let idleCores: number;
try {
  jobMilliseconds = await costOfJob();
  idleCores = await costOfIdle();
  console.log("The 99th percentile of calls in ms; of one that waits, without its wait:");
  for (const count of runnerCounts) measured.push(await measure(count, normal));
  measured.push(await measure(goalRunners, talkative));
} finally {
  await server.stop();
}

const figures: Figure[] = measured
  .filter(({ runners }) => runners === goalRunners)
  .map(({ load, runners, cores, mebibytes: size, descriptors }) => ({
    row: "7",
    what: `% of a core, ${runners} runners, a tenth with jobs that post ${load.postsPerSecond} KB a second`,
    value: cores * 100,
    goal: 15,
    better: "smaller",
    more: `${size.toFixed(0)} MiB, ${descriptors} descriptors`,
  }));
console.log("");
printTable("The server's share of a core", figures);
const jobCores = (jobMilliseconds / 1000 / 3600) * jobsPerRunnerHour;
console.log(`\na runner without a job: ${(idleCores * 1e6).toFixed(0)} µs of CPU a second`);
console.log(
  `a job with ${normal.posts} posts of 1 KB of log: ${jobMilliseconds.toFixed(1)} ms of CPU`,
);
for (const runners of [100, 1000, 10_000])
  console.log(
    `${runners} runners with ${jobsPerRunnerHour} job an hour each: ${((idleCores + jobCores) * runners * 100).toFixed(1)} % of a core`,
  );

const file = join(import.meta.dirname, "../docs/scaling.svg");
const points = measured.filter(({ load }) => load === normal);
writeFileSync(file, drawScaling({ measured: points, idleCores, jobCores }));
console.log(`\ndrawn: ${file}`);
