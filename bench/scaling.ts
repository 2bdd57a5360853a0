/**
 * What runners and jobs cost one server, on SQLite and
 * on PostgreSQL. One process simulates several numbers of runners, a tenth of which run jobs with
 * logs. Draws docs/scaling.svg, with the processor cores that larger deployments need by the same
 * costs.
 *
 * A runner without a job has a waiting claim, which it renews every 30 seconds as its heartbeat. A
 * runner with a job has a waiting heartbeat and posts 1 KB of log a second; once more, with 2,000
 * runners, ten times a second, which is as often as an agent ever does.
 *
 * The prototype (lib/prototype.ts) with the same runners shows what they cost at least.
 *
 * A point at which the runners sent less than they should have is no measurement of the server: it
 * is printed, and neither drawn nor a figure.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { cpuMicroseconds } from "./lib/processes.ts";
import { Runners, type JobLoad } from "./lib/runners.ts";
import {
  startOnPostgres,
  startOnPrototype,
  startOnSqlite,
  type ScaledServer,
} from "./lib/scaled-server.ts";
import { drawScaling, type ScalingCosts } from "./lib/scaling-plot.ts";
import { printTable, type Figure } from "./lib/table.ts";

const most = 5000;
/** The number of runners in the goal. */
const goalRunners = 2000;
const withJobs = 0.1;
/** How long a runner waits for the next job, and how long its costs are measured. */
const waitSeconds = 30;
const seconds = 20;
const connectMilliseconds = 2;
const normal: JobLoad = { posts: 20, postsPerSecond: 1 };
const talkative: JobLoad = { posts: 200, postsPerSecond: 10 };
/** At least so much of what they should have sent. */
const enoughSent = 0.95;
/** To know the cost of a runner without a job, claims wait so long instead of 30 seconds. */
const shortSeconds = 3;
const idleRunners = 500;
const jobs = 100;
/**
 * Before the first measurement. V8 compiles during the first tens of thousands of requests, which a
 * server with 2,000 runners has behind it after two minutes: until then it takes a third more.
 */
const warmUp = { lanes: 16, jobsOfLane: 60, runners: 1000, periods: 15 };
/** Each runner runs a job an hour in the busiest hour. */
const jobsPerRunnerHour = 1;

const stores = [
  {
    name: "SQLite",
    color: "#2a6fb0",
    start: startOnSqlite,
    points: [100, 500, 1000, goalRunners, most],
    withTalkative: true,
  },
  {
    name: "PostgreSQL",
    color: "#3a7d34",
    start: startOnPostgres,
    points: [500, goalRunners, most],
    withTalkative: false,
  },
] as const;

interface Load {
  readonly load: JobLoad;
  readonly runners: number;
  readonly cores: number;
  readonly mebibytes: number;
  readonly descriptors: number;
  /** The part that the runners sent of what they should have. */
  readonly sent: number;
}

/** What a server, and its database if that is another program, do. */
class Bench {
  readonly #scaled: ScaledServer;
  constructor(scaled: ScaledServer) {
    this.#scaled = scaled;
  }

  get #pid(): number {
    return this.#scaled.server.pid;
  }

  /** CPU seconds of both. */
  #cpu(): readonly [server: number, database: number] {
    return [cpuMicroseconds(this.#pid) / 1e6, this.#scaled.databaseMicroseconds() / 1e6];
  }

  #cpuSince([server, database]: readonly [number, number]): readonly [number, number] {
    const now = this.#cpu();
    return [now[0] - server, now[1] - database];
  }

  /** Has so many runners live for a while. */
  async measure(count: number, load: JobLoad): Promise<Load> {
    const { server, idle, busy } = this.#scaled;
    const runners = new Runners(server.url);
    const [idleCount, busyCount] = [count * (1 - withJobs), count * withJobs];
    // They connect one after another, and are spread over a period as if they had long been there.
    const connecting = count * connectMilliseconds;
    const lives = [
      ...idle.slice(0, idleCount).map(async (worker, at, all) => {
        await pause((at / all.length) * connecting);
        await runners.stayIdle(worker, waitSeconds, (at % waitSeconds) + 1);
      }),
      ...busy.slice(0, busyCount).map(async (worker, at, all) => {
        await pause((at / all.length) * connecting);
        await runners.stayBusy(worker, waitSeconds, load);
      }),
    ];
    let isOver = false;
    const failed = Promise.all(lives).catch((error: unknown) => {
      if (!isOver) throw error;
    });
    await Promise.race([failed, pause(connecting + 2000)]);
    runners.forget();
    const before = this.#cpu();
    const begun = performance.now();
    await Promise.race([failed, pause(seconds * 1000)]);
    const elapsed = (performance.now() - begun) / 1000;
    const [cores, database] = this.#cpuSince(before).map((used) => used / elapsed) as [
      number,
      number,
    ];
    const posts = (runners.times.get("log")?.length ?? 0) / elapsed;
    const sent = Math.min(
      posts / (busyCount * load.postsPerSecond),
      // A heartbeat and a claim in each period.
      runners.idleCalls / elapsed / ((2 * idleCount) / waitSeconds),
    );
    const p99 = [...runners.times].map(([call, times]) => {
      const value = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
      return `${call} ${value.toFixed(1)}`;
    });
    const descriptors = readdirSync(`/proc/${this.#pid}/fd`).length;
    const size = this.#mebibytes();
    isOver = true;
    await runners.close();
    await Promise.allSettled(lives);
    await failed;
    console.log(
      [
        `${count} runners, ${load.postsPerSecond} KB/s: ${percent(cores)} of a core`,
        ...(database > 0 ? [`database ${percent(database)}`] : []),
        `${size.toFixed(0)} MiB`,
        `${descriptors} descriptors`,
        ...p99,
        `${posts.toFixed(0)} posts a second`,
        `${runners.resets} connections reset`,
        sent < enoughSent
          ? `NO MEASUREMENT: the runners sent only ${percent(sent)} of what they should have`
          : `the runners sent ${percent(sent)}`,
      ].join(", "),
    );
    return { load, runners: count, cores, mebibytes: size, descriptors, sent };
  }

  #mebibytes(): number {
    const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  }

  /** Has the server do often what is measured. */
  async warmUp(): Promise<void> {
    const runners = new Runners(this.#scaled.server.url);
    const { idle, busy } = this.#scaled;
    await Promise.all([
      ...busy.slice(0, warmUp.lanes).map(async (worker) => {
        for (let at = 0; at < warmUp.jobsOfLane; at += 1)
          await runners.runJob(worker, { ...normal, postsPerSecond: Infinity });
      }),
      ...idle.slice(0, warmUp.runners).map(async (worker) => {
        for (let period = 0; period < warmUp.periods; period += 1) await runners.beIdle(worker, 1);
      }),
    ]);
    await runners.close();
  }

  /** The cores of server and database for each runner without a job. */
  async costOfIdle(): Promise<readonly [number, number]> {
    const runners = new Runners(this.#scaled.server.url);
    const spread = (periods: number) =>
      Promise.all(
        this.#scaled.idle.slice(0, idleRunners).map(async (worker, at) => {
          await pause((at / idleRunners) * shortSeconds * 1000);
          for (let period = 0; period < periods; period += 1)
            await runners.beIdle(worker, shortSeconds);
        }),
      );
    await spread(1);
    const periods = 3;
    const before = this.#cpu();
    await spread(periods);
    const [server, database] = this.#cpuSince(before);
    await runners.close();
    const each = periods * idleRunners * waitSeconds;
    return [server / each, database / each];
  }

  /** The CPU seconds of a job. */
  async costOfJob(): Promise<readonly [number, number]> {
    const runners = new Runners(this.#scaled.server.url);
    const before = this.#cpu();
    for (let at = 0; at < jobs; at += 1)
      await runners.runJob(this.#scaled.busy[0]!, { ...normal, postsPerSecond: Infinity });
    const [server, database] = this.#cpuSince(before);
    await runners.close();
    return [server / jobs, database / jobs];
  }
}

const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;
const micro = (cpuSeconds: number): string => `${(cpuSeconds * 1e6).toFixed(0)} µs`;
const milli = (cpuSeconds: number): string => `${(cpuSeconds * 1e3).toFixed(1)} ms`;

/** Before anything else, what the same runners cost the prototype. */
async function measurePrototype(): Promise<Map<JobLoad, Load>> {
  const loads = [normal, talkative];
  const scaled = await startOnPrototype({
    busy: goalRunners * withJobs,
    idle: goalRunners,
    queued: queuedFor(loads.map((load) => ({ runners: goalRunners, load }))),
  });
  const bench = new Bench(scaled);
  console.log("The prototype of bench/lib:");
  try {
    await bench.warmUp();
    const measured = new Map<JobLoad, Load>();
    for (const load of loads) measured.set(load, await bench.measure(goalRunners, load));
    console.log("");
    return measured;
  } finally {
    await scaled.close();
  }
}

/** Each runner with a job runs at most three of the normal ones in a measurement. */
const queuedFor = (loads: readonly Pick<Load, "runners" | "load">[]): number =>
  loads.reduce(
    (sum, { runners }) => sum + runners * withJobs * 4,
    jobs + warmUp.lanes * warmUp.jobsOfLane,
  );

const figures: Figure[] = [];
const series: ScalingCosts[] = [];
const prototype = await measurePrototype();
for (const { name, color, start, points, withTalkative } of stores) {
  const loads = [
    ...points.map((runners) => ({ runners, load: normal })),
    ...(withTalkative ? [{ runners: goalRunners, load: talkative }] : []),
  ];
  const scaled = await start({ busy: most * withJobs, idle: most, queued: queuedFor(loads) });
  const bench = new Bench(scaled);
  console.log(`${name}. The 99th percentile of calls in ms; of one that waits, without its wait:`);
  const measured: Load[] = [];
  try {
    await bench.warmUp();
    const job = await bench.costOfJob();
    const idle = await bench.costOfIdle();
    for (const { runners, load } of loads) {
      const point = await bench.measure(runners, load);
      if (point.sent >= enoughSent) measured.push(point);
    }
    const perRunner = job.map((cost) => (cost / 3600) * jobsPerRunnerHour) as [number, number];
    const database = (of: string) => (scaled.databaseMicroseconds() > 0 ? `; database ${of}` : "");
    console.log(
      `a runner without a job: ${micro(idle[0])} of CPU a second${database(micro(idle[1]))}`,
    );
    console.log(
      `a job with ${normal.posts} posts of 1 KB of log: ${milli(job[0])} of CPU${database(milli(job[1]))}`,
    );
    for (const runners of [100, 1000, 10_000]) {
      const cores = (of: 0 | 1) => percent((idle[of] + perRunner[of]) * runners);
      console.log(
        `${runners} runners with ${jobsPerRunnerHour} job an hour each: ${cores(0)} of a core${database(cores(1))}`,
      );
    }
    console.log("");
    const ofNormal = measured.filter(({ load }) => load === normal);
    series.push({ name, color, measured: ofNormal, idleCores: idle[0], jobCores: perRunner[0] });
  } finally {
    await scaled.close();
  }
  // The goal is that of a server with its own database.
  if (start === startOnSqlite)
    for (const { runners, load, cores, mebibytes, descriptors } of measured)
      if (runners === goalRunners)
        figures.push({
          row: "7",
          what: `% of a core, ${runners} runners, a tenth with jobs that post ${load.postsPerSecond} KB a second`,
          value: cores * 100,
          goal: 15,
          better: "smaller",
          more: `${mebibytes.toFixed(0)} MiB, ${descriptors} descriptors; prototype ${percent(prototype.get(load)!.cores)}`,
        });
}
printTable("The server's share of a core", figures);

const file = join(import.meta.dirname, "../docs/scaling.svg");
writeFileSync(file, drawScaling(series));
console.log(`\ndrawn: ${file}`);
