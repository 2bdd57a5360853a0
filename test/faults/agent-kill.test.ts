/**
 * kill -9 of a real agent of a server that has only the published interface: terraform runs once,
 * the result is right, and the log is in order. kill-table.test.ts has every moment of every kind
 * of job, against the control plane.
 */
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { scratch, startAgent, until, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { fixtureFiles } from "../helpers/agent/fixtures.ts";
import { startInterfaceOnlyServer, ended } from "../helpers/agent/interface-only-server.ts";
import { proving } from "../helpers/project/proving.ts";

/** Counts its applies in a file outside the workspace, and takes long enough to be killed. */
const configuration = (counter: string): string => `
  resource "terraform_data" "once" {
    provisioner "local-exec" {
      quiet   = true
      command = "echo run >> ${counter}; for i in 1 2 3 4 5 6; do echo tick $i; sleep 0.1; done; echo 'schöne Grüße'"
    }
  }
  output "cluster_name" { value = "survivor" }`;

/** Preserves the output of terraform from the wipe, by hard links. */
async function collect(jobs: string, into: string, over: AbortSignal): Promise<void> {
  mkdirSync(into);
  while (!over.aborted) {
    for (const job of existsSync(jobs) ? readdirSync(jobs) : []) {
      const runs = join(jobs, job, "runs");
      for (const run of existsSync(runs) ? readdirSync(runs) : []) {
        for (const stream of ["stdout", "stderr"]) {
          const [from, to] = [join(runs, run, stream), join(into, `${run}.${stream}`)];
          if (existsSync(from) && !existsSync(to)) linkSync(from, to);
        }
      }
    }
    await sleep(5);
  }
}

const written = (folder: string, stream: string): string =>
  readdirSync(folder)
    .filter(
      (name) =>
        /-(fetch-providers|init|init-whole|plan|apply)\./.test(name) && name.endsWith(stream),
    )
    .toSorted()
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");

/** Returns the text of the file, or nothing if it was just removed. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

async function killedWhen(marker: string, wait: number): Promise<void> {
  await using server = await startInterfaceOnlyServer();
  using place = scratch();
  const counter = join(place.path, "counter");
  // The user of the job may write there.
  writeFileSync(counter, "");
  chmodSync(counter, 0o666);
  const work = join(place.path, "work");
  const settings = {
    ...server.settings,
    WINDLASS_WORK_DIR: work,
    // A sandbox would hide the counter. isolation.test.ts shows that jobs in a sandbox survive too.
    WINDLASS_ISOLATION: process.getuid?.() === 0 ? "uid" : "process",
  };
  const job = server.enqueue({
    job_type: "DEPLOY",
    config_snapshot: {
      source: {
        type: "inline",
        files: { ...fixtureFiles("success-cluster"), "main.tf": configuration(counter) },
      },
    },
  });
  const over = new AbortController();
  const kept = join(place.path, "kept");
  const collecting = collect(join(work, "jobs"), kept, over.signal);
  const journal = join(work, "jobs", job.id, "journal.ndjson");

  const first: AgentProcess = startAgent(settings);
  // The job may have ended between two looks.
  const isOver = () => !["QUEUED", "PROCESSING"].includes(job.status);
  await until(() => isOver() || (existsSync(journal) && read(journal).includes(marker)));
  await sleep(wait);
  first.kill("SIGKILL");
  expect(await first.exited).toBeNull();

  await using second = startAgent(settings);
  await ended(job);
  expect(job.reports.at(-1)).toMatchObject({
    status: "SUCCESS",
    execution_metadata: { cluster_name: "survivor" },
  });
  expect(job.reports.filter(({ status }) => status === "SUCCESS").length).toBeGreaterThan(0);
  expect(job.claims).toBe(1);
  expect(readFileSync(counter, "utf8")).toBe("run\n");
  await until(() => readdirSync(join(work, "jobs")).length === 0);
  over.abort();
  await collecting;
  // A server without `seq` may get the chunk in transit twice, so repeated chunks are removed
  // first.
  expect(undoubled(job.logs, "STDOUT")).toBe(written(kept, "stdout"));
  expect(undoubled(job.logs, "STDERR")).toBe(written(kept, "stderr"));
  // If the first agent had reported everything, the second one may still be starting.
  await until(() => second.log().includes("ready for jobs"));
  second.kill("SIGTERM");
  expect(await second.exited).toBe(0);
}

/** The stream without chunks that were posted twice in a row. */
function undoubled(logs: { log_chunk: string; stream_type: string }[], stream: string): string {
  return logs
    .filter(({ stream_type }) => stream_type === stream)
    .map(({ log_chunk }) => log_chunk)
    .filter((chunk, index, all) => chunk !== all[index - 1])
    .join("");
}

type Moment = readonly [name: string, marker: string, wait: number];
const moments: readonly Moment[] = [
  ["during plan", '"run":"07-plan"', 25],
  ["when the outcome is recorded", '"at":"ended"', 0],
];
const more: readonly Moment[] = [
  ["right after the claim", '"at":"claimed"', 0],
  ["during apply", '"run":"08-apply"', 300],
  ["when the job has started", '"at":"started"', 0],
  ["while the source is fetched", '"step":"source"', 0],
  ["when init begins", '"run":"06-init-whole"', 0],
  ["during init", '"run":"06-init-whole"', 15],
  ["when plan begins", '"run":"07-plan"', 0],
  ["when apply begins", '"run":"08-apply"', 0],
  ["when apply creates its first resource", '"run":"08-apply"', 60],
  ["while outputs are read", '"at":"begun","step":"output"', 0],
];

describe("kill -9 of the agent", () => {
  const all = proving ? [...moments, ...more] : moments;
  test.concurrent.each(all)("%s, the next agent completes the job", (_, marker, wait) =>
    killedWhen(marker, wait),
  );
});
