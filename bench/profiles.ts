/**
 * Where the CPU time of the frequent requests goes, by part of the program. `npm run bench --
 * profiles heartbeat` profiles one of them and lists functions.
 */
import { fill, token, type Filled } from "./lib/fill.ts";
import { cpuPerRequest, type Load } from "./lib/load.ts";
import { startProfiled } from "./lib/processes.ts";
import { profile, type Spent, type Times } from "./lib/profile.ts";

const warmUp = 60_000;
const profiled = 4000;
/** Reports that end a job each. */
const fewer = 5000;

let filled!: Filled;
const { server, debuggerUrl } = await startProfiled(async (directory) => {
  filled = await fill(directory, warmUp + profiled, 2 * fewer);
});
const headersOf = (id: string) => ({ "x-worker-id": id, "x-worker-token": token });
const headers = headersOf(filled.idleWorker);
const log = (bytes: number): Load => ({
  path: `/api/jobs/${filled.heldJob}/logs`,
  headers,
  body: JSON.stringify({
    log_chunk: `${"x".repeat(79)}\n`.repeat(bytes / 80),
    stream_type: "STDOUT",
  }),
  status: 201,
});
const complete = (jobs: readonly string[]): Load => ({
  path: "/",
  method: "PUT",
  paths: jobs.map((id) => `/api/jobs/${id}/status`),
  headers: headersOf(filled.busyWorker),
  body: '{"status":"SUCCESS"}',
  status: 200,
});
const same = (load: Load): [Load, Load] => [load, load];
const loads: readonly (readonly [what: string, loads: [before: Load, profiled: Load]])[] = [
  ["poll", same({ path: "/api/jobs/claim", headers, status: 204 })],
  [
    "heartbeat",
    same({
      path: "/api/workers/heartbeat",
      headers,
      body: '{"version":"1.0.0"}',
      status: 200,
    }),
  ],
  ["log of 1 KB", same(log(1040))],
  ["log of 16 KB", same(log(16_400))],
  [
    "claim",
    same({
      path: "/api/jobs/claim",
      headers: headersOf(filled.busyWorker),
      status: 200,
    }),
  ],
  ["complete", [complete(filled.heldJobs.slice(0, fewer)), complete(filled.heldJobs.slice(fewer))]],
];

const amountOf = ({ paths }: Load, usual: number): number => paths?.length ?? usual;
const wanted = process.argv.slice(2);
const taken: [what: string, spent: Spent][] = [];
try {
  for (const [what, [before, load]] of loads) {
    if (wanted.length > 0 && !wanted.some((name) => what.includes(name))) continue;
    await cpuPerRequest(server, before, amountOf(before, warmUp));
    const work = () => cpuPerRequest(server, load, amountOf(load, profiled));
    taken.push([what, await profile(debuggerUrl, work)]);
  }
} finally {
  await server.stop();
}

/** The share of the time in which the server was not idle: a busy machine slows each function. */
const shareOf = (times: Times, name: string): string => {
  const busy = [...times].reduce((sum, [part, time]) => (part === "(idle)" ? sum : sum + time), 0);
  return `${((100 * (times.get(name) ?? 0)) / busy).toFixed(1)} %`;
};
const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const parts = new Set(taken.flatMap(([, spent]) => [...spent.parts.keys()]));
parts.delete("(idle)");
console.log(row(["part", ...taken.map(([what]) => what)]));
console.log(row(["---", ...taken.map(() => "---")]));
for (const part of parts)
  console.log(row([part, ...taken.map(([, spent]) => shareOf(spent.parts, part))]));
for (const [what, { functions }] of taken) {
  console.log(`\n${what}:`);
  for (const name of [...functions.keys()].slice(0, wanted.length > 0 ? 60 : 12))
    if (name !== "(idle)") console.log(`${shareOf(functions, name).padStart(7)}  ${name}`);
}
