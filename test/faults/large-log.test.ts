/**
 * A terraform that prints at full speed, with a real agent and control plane: every byte is stored
 * or counted as dropped, the agent's memory does not grow with the log, and terraform does not wait
 * for the log. One gigabyte with WINDLASS_PROVE=1.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { type User } from "../helpers/people/user.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { proving } from "../helpers/project/proving.ts";
import { testProgram } from "../helpers/agent/engines.ts";
import { pathWith, realTerraform } from "../helpers/agent/terraform.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const megabytes = proving ? 1000 : 12;
/** With WINDLASS_PROVE=1 the default limit. */
const limitMebibytes = proving ? 256 : 6;

const { plane } = planeForFile();
const place = folderForFile();
const output = join(place, "output");
let path: string;
const timing = join(place, "milliseconds");
/** Prints the output, and writes the milliseconds that this took to a file. */
const print = `started=$(date +%s%N); cat ${output}; ended=$(date +%s%N); echo $(( (ended - started) / 1000000 )) > ${timing}`;

beforeAll(async () => {
  writeOutput();
  // The real terraform, but its apply prints the large output instead of its own.
  const real = realTerraform();
  const script = `case $1 in
  apply) ${real} "$@" > /dev/null; code=$?; ${print}; exit $code;;
  *) exec ${real} "$@";;
esac`;
  path = pathWith(join(place, "bin"), testProgram, script);
});

test(`${megabytes} MB of output are stored byte for byte`, async () => {
  const { stdout, system, peakMebibytes, slowdown } = await printThrough("100000");
  expect(stdout.bytes).toBe(size);
  expect(stdout.digest).toBe(digest(size));
  expect(system).not.toContain("dropped");
  report(peakMebibytes, slowdown);
});

test(`${megabytes} MB of output are stored up to the limit, and the rest is counted`, async () => {
  const { stdout, system, peakMebibytes, slowdown } = await printThrough(`${limitMebibytes}`);
  const limit = limitMebibytes * 1024 * 1024;
  // The output of init and plan counts too, and a character is not split.
  expect(stdout.bytes).toBeLessThanOrEqual(limit);
  expect(stdout.bytes).toBeGreaterThan(limit - 16 * 1024);
  expect(stdout.digest).toBe(digest(stdout.bytes));
  expect(system).toMatch(new RegExp(`\\[${size - stdout.bytes} bytes of the output of \\S+apply`));
  report(peakMebibytes, slowdown);
});

/** Runs a DEPLOY whose apply prints the output, and reads its log. */
async function printThrough(limit: string) {
  await using machine = await userMachine(plane, {
    // At other levels a job cannot read the script.
    agent: { PATH: path, WINDLASS_ISOLATION: "process", WINDLASS_LOG_LIMIT_MIB: limit },
  });
  const { user, agent } = machine;
  const files = { "main.tf": 'output "cluster_name" {\n  value = "loud"\n}\n' };
  const configuration_id = await user.configure({ source: { type: "inline", files } });
  const job = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect(await user.released(job)).toMatchObject({ status: "SUCCESS", log_complete: true });
  const peakMebibytes = memoryPeak(agent.pid);
  const inJob = Number(readFileSync(timing, "utf8"));
  spawnSync("sh", ["-c", `{ ${print}; } > ${join(machine.path, "copy")}`]);
  const alone = Number(readFileSync(timing, "utf8"));
  return { ...(await readLog(user, job)), peakMebibytes, slowdown: inJob / alone };
}

function report(peakMebibytes: number, slowdown: number): void {
  expect(peakMebibytes).toBeGreaterThan(20);
  expect(peakMebibytes).toBeLessThan(150);
  if (!proving) return;
  const figures = `peak ${peakMebibytes.toFixed(0)} MiB, writer ${slowdown.toFixed(2)}`;
  process.stderr.write(`${megabytes} MB: ${figures} of the time it takes alone\n`);
  // The agent and the server use the same cores, so it cannot be 1. A writer that waits for the log
  // takes ten times as long.
  expect(slowdown).toBeLessThan(4);
}

/** Reads the peak from /proc, so the tests need Linux. */
function memoryPeak(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

let size = 0;
function writeOutput(): void {
  const file = openSync(output, "w");
  for (let line = 0; size < megabytes * 1_000_000;) {
    let block = "";
    while (block.length < 64 * 1024) {
      block += `loud ${String(++line).padStart(9, "0")} äöü €uro 🚀 ${"x".repeat(line % 97)}\n`;
    }
    size += writeSync(file, block);
  }
  closeSync(file);
}

/** SHA-256 of the first bytes of the output. */
function digest(bytes: number): string {
  const hash = spawnSync("sh", ["-c", `head -c ${bytes} ${output} | sha256sum`], {
    encoding: "utf8",
  });
  return hash.stdout.slice(0, 64);
}

/** Reads the stored log: the digest of the apply's output, and the system lines. */
async function readLog(user: User, { id }: Job) {
  const hash = createHash("sha256");
  let bytes = 0;
  let system = "";
  let isLoud = false;
  let isOver = false;
  for (let after: number | null = 0; after !== null;) {
    const query: { after: number; limit: number } = { after, limit: 200 };
    const page = await user.client.call("getJobLogs", { params: { id }, query });
    after = page.next_after;
    for (const { stream_type, log_chunk } of page.logs) {
      if (stream_type === "SYSTEM") {
        isOver ||= isLoud;
        system += log_chunk;
      }
      isLoud ||= stream_type === "STDOUT" && log_chunk.startsWith("loud 000000001 ");
      if (!isLoud || isOver || stream_type !== "STDOUT") continue;
      hash.update(log_chunk);
      bytes += Buffer.byteLength(log_chunk);
    }
  }
  return { stdout: { bytes, digest: hash.digest("hex") }, system };
}
