/**
 * The cost of a long history, with every job of one owner and one worker, and without statistics
 * for SQLite's planner.
 *
 * Row 4: the CPU of claiming, starting and ending a job with a million finished jobs, as a ratio to
 * a hundred thousand. Row 16: the time of a heartbeat, a claim, a new job, every list and every
 * page with a million, as a ratio to a thousand.
 * Row 17: how much the database grows for a finished job whose log is archived.
 *
 * The servers are real. Rounds alternate between two of them, and the median ratio is printed.
 */
import { Pool } from "undici";
import { everyRequest, timeOf, type Target } from "./lib/every-request.ts";
import { token } from "./lib/fill.ts";
import { growthPerJob } from "./lib/growth.ts";
import { fillHistory, type History } from "./lib/history.ts";
import { cpuMicroseconds, startWindlass, type BenchServer } from "./lib/processes.ts";
import { signIn, signInBrowser } from "./lib/sign-in.ts";
import { median, printTable, type Figure } from "./lib/table.ts";

const rounds = 7;
const perRound = 600;
const warmUp = 3000;
/** Jobs that are still queued when the requests are timed. */
const leftQueued = 3000;
const lanes = 16;
const million = 1_000_000;
const jobsWithLogs = 200;

interface Filled extends Target {
  readonly server: BenchServer;
}

const [few, some, many] = [
  await startWith(1000),
  await startWith(100_000),
  await startWith(million),
];
try {
  // First, because requests leave claimed jobs behind, whose configurations are then busy.
  printTable("CPU with 100,000 finished jobs / CPU with 1,000,000", [await timeClaims()]);
  printTable("with 1,000,000 finished jobs / with 1,000", await timeRequests());
} finally {
  await Promise.all([few, some, many].map(({ server }) => server.stop()));
}

printTable("KB of the database for each finished job with a log of 1 MB", [
  {
    row: "17",
    what: `growth over ${jobsWithLogs} jobs, in pages`,
    value: (await growthPerJob(jobsWithLogs)) / 1024,
    goal: 4,
    better: "smaller",
  },
]);

async function startWith(finished: number): Promise<Filled> {
  let known: (History & Pick<Target, "client" | "browser">) | undefined;
  const server = await startWindlass(async (directory) => {
    const queued = warmUp + rounds * perRound + leftQueued;
    const history = await fillHistory(directory, { finished, queued });
    const client = await signIn(directory, history.owner);
    known = { ...history, client, browser: await signInBrowser(directory, history.owner) };
  });
  if (!known) throw new Error("the store was not filled");
  return { ...known, url: server.url, server };
}

async function timeRequests(): Promise<Figure[]> {
  const figures: Figure[] = [];
  const ofFew = everyRequest(few);
  for (const [index, request] of everyRequest(many).entries()) {
    const times: { few: number; many: number }[] = [];
    for (let round = 0; round <= rounds; round += 1)
      times.push({ few: await timeOf(few, ofFew[index]!), many: await timeOf(many, request) });
    // The first round fills caches.
    const counted = times.slice(1);
    figures.push({
      row: "16",
      what: request.what,
      value: median(counted.map((time) => time.many / time.few)),
      goal: 1.5,
      better: "smaller",
      more: `${median(counted.map((time) => time.many)).toFixed(1)} ms with a million`,
    });
  }
  return figures;
}

async function timeClaims(): Promise<Figure> {
  for (const filled of [some, many]) await claimAndEnd(filled, warmUp);
  const ratios: number[] = [];
  const costs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = await claimAndEnd(some, perRound);
    const after = await claimAndEnd(many, perRound);
    ratios.push(before / after);
    costs.push(after);
  }
  return {
    row: "4",
    what: "claim, start and end of a job",
    value: median(ratios),
    goal: 0.9,
    better: "larger",
    more: `${median(costs).toFixed(0)} µs with a million`,
  };
}

/** Claims, starts and ends jobs. Returns the server's CPU microseconds per job. */
async function claimAndEnd({ server, worker }: Filled, amount: number): Promise<number> {
  const headers = {
    "x-worker-id": worker,
    "x-worker-token": token,
    "content-type": "application/json",
  };
  const pool = new Pool(server.url, { connections: lanes });
  const ask = async (method: "POST" | "PUT", path: string, body: unknown, status: number) => {
    const response = await pool.request({ method, path, headers, body: JSON.stringify(body) });
    const text = await response.body.text();
    if (response.statusCode !== status)
      throw new Error(`${path} returned ${response.statusCode} ${text}`);
    return text;
  };
  let left = amount;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      const { job } = JSON.parse(await ask("POST", "/api/jobs/claim", {}, 200)) as {
        job: { id: string };
      };
      const path = `/api/jobs/${job.id}/status`;
      await ask("PUT", path, { status: "PROCESSING" }, 200);
      await ask("PUT", path, { status: "SUCCESS" }, 200);
    }
  };
  const before = cpuMicroseconds(server.pid);
  await Promise.all(Array.from({ length: lanes }, lane));
  await pool.close();
  return (cpuMicroseconds(server.pid) - before) / amount;
}
