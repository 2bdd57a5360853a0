/**
 * The part of an agent that ships a log, in a process of its own: runs a command, ships its output,
 * and prints its times and peak memory.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { createApi } from "../../agent/api/api.ts";
import { retryLimits } from "../../common/backoff.ts";
import { Revocation } from "../../agent/api/failures.ts";
import { openKnownServer } from "../../agent/api/known-server.ts";
import { openRun } from "../../agent/job/terraform/process.ts";
import { openJobLog } from "../../agent/logs/job-log.ts";

export interface ShipOrder {
  readonly server: string;
  readonly workerId: string;
  readonly workerToken: string;
  readonly jobId: string;
  readonly attempt: number;
  /** `jobs/<id>`. */
  readonly directory: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly secrets: readonly string[];
}

export interface Shipped {
  /** From the start of the command to its end. */
  readonly commandMilliseconds: number;
  /** From the start of the command until the server has stored the last byte. */
  readonly milliseconds: number;
  readonly cpuMilliseconds: number;
  readonly peakKilobytes: number;
}

const order = JSON.parse(process.argv[2] ?? "") as ShipOrder;
const log = pino({ level: "silent" });
const revocation = new Revocation(30, () => process.exit(1));
const known = openKnownServer({ workDir: order.directory, url: order.server });
const api = createApi({ network: {}, ...order, known, revocation, log, retry: retryLimits() });
const jobLog = await openJobLog({
  directory: order.directory,
  sink: api.forJob(order.jobId, order.attempt),
  secrets: order.secrets,
  batching: true,
  volumeLimit: Number.MAX_SAFE_INTEGER,
  onJobStatus: () => undefined,
  onGiveUp: (error) => {
    throw error;
  },
});
const started = performance.now();
const run = openRun({
  directory: join(order.directory, "runs", "01-bench"),
  command: order.command,
  args: order.args,
  cwd: order.directory,
  env: { PATH: process.env["PATH"] ?? "" },
});
let commandMilliseconds = 0;
const ended = run.ended.then(() => {
  commandMilliseconds = performance.now() - started;
});
jobLog.run("01-bench", ended);
await ended;
await jobLog.drained();
const milliseconds = performance.now() - started;
await jobLog.close();
await api.close();
const { user, system } = process.cpuUsage();
const peak = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
const shipped: Shipped = {
  commandMilliseconds,
  milliseconds,
  cpuMilliseconds: (user + system) / 1000,
  peakKilobytes: Number(peak),
};
process.stdout.write(`${JSON.stringify(shipped)}\n`);
