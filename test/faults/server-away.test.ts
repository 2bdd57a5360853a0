/**
 * A server that is slow or away: terraform is not slowed, its output is kept on disk, and is sent
 * when the server is back, even after a day. With WINDLASS_PROVE=1 the times are compared and
 * printed.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { keep, written } from "./kill-jobs.ts";
import { faultProxy, type ProxiedCall } from "../helpers/network/fault-proxy.ts";
import { type Plane } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { proving } from "../helpers/project/proving.ts";

const { plane } = planeForFile();
/** A worker is offline after two seconds, and its jobs are lost one second later. */
const { plane: hasty } = planeForFile({
  WINDLASS_HEARTBEAT_SECONDS: "0.5",
  WINDLASS_OFFLINE_SECONDS: "2",
  WINDLASS_LOST_SECONDS: "1",
});

/** Calls of terraform itself, which fails if it cannot save its state. */
const isOfState = ({ path }: ProxiedCall): boolean => path.includes("/api/state/");
const isEnd = ({ method, path, body }: ProxiedCall): boolean =>
  method === "PUT" && path.endsWith("/status") && !body.includes('"PROCESSING"');

async function machineBehindProxy(at: Plane, settings: Record<string, string> = {}) {
  const proxy = await faultProxy(at.url);
  const owner = await userMachine(at, { agent: { WINDLASS_URL: proxy.url, ...settings } });
  await owner.ready();
  return {
    owner,
    proxy,
    user: owner.user,
    /** Preserves the output of terraform from the wipe. */
    keep: ({ id }: { id: string }) => {
      const kept = join(owner.path, id);
      keep(join(owner.work, "jobs", id, "runs"), kept);
      return kept;
    },
    journal: ({ id }: { id: string }) =>
      readFileSync(join(owner.work, "jobs", id, "journal.ndjson"), "utf8"),
    [Symbol.asyncDispose]: async () => {
      await owner[Symbol.asyncDispose]();
      await proxy.close();
    },
  };
}

const printing = (command: string) => ({
  type: "inline" as const,
  files: {
    "main.tf": `
      resource "terraform_data" "chatty" {
        provisioner "local-exec" { command = ${JSON.stringify(command)} }
      }
      output "cluster_name" { value = "patient" }`,
  },
});

test("terraform takes the same time when the server is slow or away, and its log is complete", async () => {
  await using one = await machineBehindProxy(plane);
  const { owner, proxy, user } = one;
  const rounds = proving ? 3 : 1;
  const lines = proving ? 100_000 : 10_000;
  const source = printing(
    `seq -f 'line %08.0f the quick brown fox jumps over the lazy dog' ${lines}`,
  );
  const modes = ["there", "slow", "away"] as const;
  const times = { there: [] as number[], slow: [] as number[], away: [] as number[] };
  let mode: (typeof modes)[number] = "there";
  const decided = new Map<string, PromiseWithResolvers<void>>();
  proxy.onRequest = async (call) => {
    if (isOfState(call)) return true;
    // The end is held back until the job's files have been read.
    if (isEnd(call)) await decided.get(call.path)?.promise;
    return mode !== "away";
  };
  proxy.onAnswer = async (call) => {
    if (mode === "slow" && !isOfState(call)) await sleep(1000);
    return true;
  };
  for (let round = 0; round < rounds; round++) {
    for (const each of modes) {
      const configuration_id = await user.configure({ source });
      const job = await user.queue({ job_type: "DEPLOY", configuration_id });
      const looked = Promise.withResolvers<void>();
      decided.set(`/api/jobs/${job.id}/status`, looked);
      const run = join(owner.work, "jobs", job.id, "runs", "08-apply");
      await until(() => existsSync(join(run, "started")));
      mode = each;
      await until(
        () =>
          existsSync(join(owner.work, "jobs", job.id)) && one.journal(job).includes('"at":"ended"'),
      );
      times[each].push(
        statSync(join(run, "code")).mtimeMs - statSync(join(run, "started")).mtimeMs,
      );
      const kept = one.keep(job);
      mode = "there";
      looked.resolve();
      expect(await user.released(job)).toMatchObject({ status: "SUCCESS", log_complete: true });
      const stdout = written(kept, "stdout");
      expect(stdout.length).toBeGreaterThan(lines * 70);
      expect((await user.log(job)) === stdout).toBe(true);
      expect(await user.log(job, "STDERR")).toBe(written(kept, "stderr"));
    }
  }
  expect(residentOf(owner.agent.pid)).toBeLessThan(150 * 1024 * 1024);
  const ratio = (of: "slow" | "away") =>
    median(times[of].map((time, round) => time / (times.there[round] ?? NaN)));
  if (proving) {
    const mean = median(times.there).toFixed(0);
    process.stdout.write(
      `apply of ${lines} lines, ${rounds} rounds: ${mean} ms; slow server ${ratio("slow").toFixed(2)}, away ${ratio("away").toFixed(2)} of that\n`,
    );
  }
  // One round on a busy machine does not measure speed.
  const limit = proving ? 1.3 : Infinity;
  for (const of of ["slow", "away"] as const) expect(ratio(of)).toBeLessThan(limit);
});

/** Seconds between two tries, instead of the default of 30. */
const pause = 0.01;
const hoursAway = proving ? 24 : 2;

test(`a server that is away for ${hoursAway} hours (scaled) gets the whole log and the result of a job that it had lost`, async () => {
  await using one = await machineBehindProxy(hasty, { WINDLASS_RETRY_SECONDS: String(pause) });
  const { owner, proxy, user } = one;
  const configuration_id = await user.configure({
    // Takes longer than the server waits before the job is lost. Its outputs are read afterwards.
    source: printing("for i in $(seq 400); do echo tick $i; sleep 0.03; done"),
  });
  let isAway = false;
  let tried = 0;
  proxy.onRequest = (call) => {
    if (!isAway || isOfState(call)) return true;
    tried++;
    return false;
  };
  const job = await user.queue({ job_type: "DEPLOY", configuration_id });
  const stdout = join(owner.work, "jobs", job.id, "runs", "08-apply", "stdout");
  await until(() => existsSync(stdout) && readFileSync(stdout, "utf8").includes("tick 20"));
  isAway = true;
  const lost = await user.reaches(job, "FAILED");
  expect(lost.error_message).toContain("runner lost, outcome unknown");
  expect(readFileSync(stdout, "utf8")).not.toContain("tick 400");
  await until(() => one.journal(job).includes('"at":"ended"'));
  const kept = one.keep(job);
  const before = residentOf(owner.agent.pid);
  const begun = tried;
  await sleep((hoursAway * 3600 * 1000 * pause) / 30);
  // The agent continues to call. The time that the calls take depends on the machine.
  await until(() => tried - begun > hoursAway * (proving ? 20 : 5));
  const grown = residentOf(owner.agent.pid) - before;
  isAway = false;
  const end = await user.reaches(job, "SUCCESS");
  expect(end).toMatchObject({
    error_message: null,
    attempt: 1,
    log_complete: true,
    execution_metadata: { cluster_name: "patient" },
  });
  expect(await user.log(job)).toBe(written(kept, "stdout"));
  expect(await user.log(job)).toContain("tick 400");
  await until(() => readdirSync(join(owner.work, "jobs")).length === 0);
  expect(grown).toBeLessThan(40 * 1024 * 1024);
  if (proving)
    process.stdout.write(
      `${hoursAway} hours away: ${tried - begun} failed calls, agent ${(grown / 1024 ** 2).toFixed(0)} MiB larger\n`,
    );
  // The agent takes the next job.
  const next = await user.queue({ job_type: "DESTROY", configuration_id });
  expect(await user.released(next)).toMatchObject({ status: "SUCCESS" });
});

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** The peak memory of a process in bytes. */
const residentOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
