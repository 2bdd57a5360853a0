/**
 * docs/decisions.md, "Row security on PostgreSQL": what a list for a person costs more than the same
 * list in the role of the server, with 100,000 finished jobs.
 */
import { openPostgres } from "../control-plane/store/engines/postgres.ts";
import { listSpecSummaries } from "../control-plane/store/configurations/summaries.ts";
import { listJobSummaries } from "../control-plane/store/jobs/lists.ts";
import { findOwnJob } from "../control-plane/store/jobs/jobs.ts";
import { asSystem, inSpaces } from "../control-plane/store/spaces.ts";
import { listWorkerIds } from "../control-plane/store/workers/workers.ts";
import { asServer } from "../test/helpers/store/postgres.ts";
import { startFilledPostgres } from "./lib/postgres.ts";
import { cpuMicroseconds } from "./lib/processes.ts";
import { median } from "./lib/table.ts";

const rounds = 15;
const perRound = 150;

const filled = await startFilledPostgres({ finished: 100_000, queued: 1000, workers: 20 });
const { owner, zone } = filled;
const store = await openPostgres({ url: asServer(filled.url), connections: 2 });
const { read } = store;
const lists: Record<string, () => Promise<unknown>> = {
  "50 jobs": () => listJobSummaries(read, { owner, limit: 50 }),
  "50 configurations": () => listSpecSummaries(read, { owner, zone, before: undefined, limit: 50 }),
  "20 workers": () => listWorkerIds(read, owner, undefined, 50),
  "one job": () => read.first(findOwnJob, { id: "", owner }),
};

interface Cost {
  readonly server: number;
  readonly database: number;
}

/** CPU microseconds of one list. */
async function cost(list: () => Promise<unknown>): Promise<Cost> {
  const before = [cpuMicroseconds(process.pid), filled.cpuMicroseconds()] as const;
  for (let at = 0; at < perRound; at += 1) await list();
  return {
    server: (cpuMicroseconds(process.pid) - before[0]) / perRound,
    database: (filled.cpuMicroseconds() - before[1]) / perRound,
  };
}

for (const [name, list] of Object.entries(lists)) {
  const samples: { readonly system: Cost; readonly person: Cost }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const system = await cost(() => asSystem(list));
    const person = await cost(() => inSpaces([{ id: owner }], list));
    // The first round fills caches.
    if (round > 0) samples.push({ system, person });
  }
  const difference = (of: keyof Cost) =>
    median(samples.map(({ system, person }) => person[of] - system[of])).toFixed(0);
  const base = (of: keyof Cost) => median(samples.map(({ system }) => system[of])).toFixed(0);
  console.log(
    `${name}: control plane ${base("server")} µs of CPU, row security ${difference("server")} more; database ${base("database")} µs, ${difference("database")} more`,
  );
}
await store.close();
await filled.close();
