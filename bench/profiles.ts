/**
 * Where the CPU time of the frequent requests goes, by part of the program: the second table of
 * docs/figures.md. `npm run bench -- profiles heartbeat` profiles one of them and lists functions.
 */
import { fill, token, type Filled } from "./lib/fill.ts";
import { cpuPerRequest, type Load } from "./lib/load.ts";
import { startProfiled } from "./lib/processes.ts";
import { profile, type Spent } from "./lib/profile.ts";

const warmUp = 6000;
const profiled = 4000;
/** Of the requests that use up a job each. */
const fewer = 2000;

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

const wanted = process.argv.slice(2);
const taken: [string, number, Spent][] = [];
try {
  for (const [what, [before, load]] of loads) {
    if (wanted.length > 0 && !wanted.some((name) => what.includes(name))) continue;
    console.error(what);
    const amount = load.paths?.length ?? profiled;
    await cpuPerRequest(server, before, before.paths?.length ?? warmUp);
    taken.push([
      what,
      amount,
      await profile(debuggerUrl, () => cpuPerRequest(server, load, amount)),
    ]);
  }
} finally {
  await server.stop();
}

const parts = [...new Set(taken.flatMap(([, , { parts: times }]) => [...times.keys()]))].filter(
  (part) => part !== "(idle)",
);
const micros = (time: number, amount: number): string => (time / amount).toFixed(1);
console.log(`| µs of a request | ${taken.map(([what]) => what).join(" | ")} |`);
console.log(`| --- |${" --- |".repeat(taken.length)}`);
for (const part of parts)
  console.log(
    `| ${part} | ${taken.map(([, amount, { parts: times }]) => micros(times.get(part) ?? 0, amount)).join(" | ")} |`,
  );
const total = ({ parts: times }: Spent): number =>
  [...times].reduce((sum, [part, time]) => (part === "(idle)" ? sum : sum + time), 0);
console.log(
  `| together | ${taken.map(([, amount, spent]) => micros(total(spent), amount)).join(" | ")} |`,
);
for (const [what, amount, { functions }] of taken) {
  console.log(`\n${what}:`);
  for (const [name, time] of [...functions].slice(0, wanted.length > 0 ? 60 : 12))
    console.log(`${micros(time, amount).padStart(7)} µs  ${name}`);
}
