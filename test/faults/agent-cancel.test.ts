/** Cancelling real applies: the delay of SIGINT, and what remains. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { isApply } from "../helpers/agent/engines.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { longRunning } from "../helpers/agent/fixtures.ts";
import { isolationForHeldApply } from "../helpers/agent/held-apply.ts";
import { levelsHere, skipAbsentLevels } from "../helpers/agent/isolation.ts";
import { listen } from "../helpers/network/listen.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import type { User } from "../helpers/people/user.ts";
import { proving } from "../helpers/project/proving.ts";
import { stubbornTerraform } from "../helpers/agent/terraform.ts";

const { working, lacking } = await levelsHere();
skipAbsentLevels(lacking);

const { plane } = planeForFile();

const ticking = longRunning(600);

const locksOf = (job: Job) =>
  plane.context.store.read.sql
    .selectFrom("state_locks")
    .selectAll()
    .where("job_id", "=", job.id)
    .execute();

const output = (work: string, { id }: Job): string => {
  const path = join(work, "jobs", id, "runs", "08-apply", "stdout");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
};

/** Cancels a job during its apply. `latency` is the milliseconds until terraform has SIGINT. */
async function cancelled(user: User, work: string) {
  const configuration_id = await user.configure(ticking);
  const job = await user.queue({ job_type: "DEPLOY", configuration_id });
  await until(() => output(work, job).includes("tick 1"));
  const asked = performance.now();
  const cancel = user.client.call("cancelJob", { params: { id: job.id } });
  while (!output(work, job).includes("Interrupt received")) await sleep(5);
  const latency = performance.now() - asked;
  await cancel;
  const end = await user.released(job);
  expect(end).toMatchObject({ status: "CANCELLED", log_complete: true, attempt: 1 });
  expect(await user.log(job)).not.toContain("Two interrupts received");
  expect(await locksOf(job)).toEqual([]);
  expect(processesOf(join(work, "workspaces", job.id))).toEqual([]);
  return { latency, configuration_id };
}

test("a cancel sends SIGINT to terraform within two seconds and leaves no lock and no process", async () => {
  await using owner = await userMachine(plane, { agent: { WINDLASS_CONCURRENCY: "5" } });
  const { user, work } = owner;
  await owner.ready();
  const rounds: Awaited<ReturnType<typeof cancelled>>[] = [];
  for (let round = 0; round < (proving ? 20 : 2); round++) {
    rounds.push(...(await Promise.all(Array.from({ length: 5 }, () => cancelled(user, work)))));
  }
  const latencies = rounds.map(({ latency }) => latency).toSorted((a, b) => a - b);
  const p99 = latencies[Math.ceil(latencies.length * 0.99) - 1] ?? Infinity;
  if (proving) {
    const p50 = latencies[Math.floor(latencies.length / 2)];
    process.stdout.write(
      `${latencies.length} cancels, SIGINT after ${Math.round(p50 ?? 0)} ms (p50), ${Math.round(p99)} ms (p99)\n`,
    );
  }
  // Other tests run at the same time unless WINDLASS_PROVE=1 is set, so the limit is high.
  expect(p99).toBeLessThan(proving ? 2000 : 60_000);
  await until(() => readdirSync(join(work, "workspaces")).length === 0);
  // The state has the resources that were created before the cancel.
  const configuration_id = rounds[0]?.configuration_id ?? "";
  const { configurations } = await user.client.call("listConfigurations");
  expect(configurations.find(({ id }) => id === configuration_id)).toMatchObject({
    status: "FAILED",
    error_message: expect.stringMatching(
      /^cancelled during apply; [^]*the state records 4 resources$/,
    ),
    deployed: { resources: 4 },
  });
  const destroy = await user.queue({ job_type: "DESTROY", configuration_id });
  expect(await user.released(destroy)).toMatchObject({ status: "SUCCESS" });
  expect(await user.log(destroy)).toContain("4 destroyed");
});

describe.concurrent.each(working)("at level %s", (level) => {
  test("a terraform that ignores every signal is killed with its processes, its outcome is unknown and its state stays locked", async () => {
    await using owner = await userMachine(plane, {
      agent: (place) => ({
        PATH: stubbornTerraform(join(place, "bin")),
        WINDLASS_ISOLATION: level,
        WINDLASS_APPLY_GRACE_SECONDS: "0.3",
        WINDLASS_KILL_GRACE_SECONDS: "0.3",
      }),
    });
    const { user, work } = owner;
    const configuration_id = await user.configure({
      source: {
        type: "inline",
        files: {
          "main.tf": `resource "terraform_data" "deaf" {
            provisioner "local-exec" {
              command = "trap '' INT TERM; setsid sh -c 'trap \\"\\" INT TERM; sleep 601' & echo tick 1; sleep 600"
            }
          }`,
        },
      },
    });
    const job = await user.queue({ job_type: "DEPLOY", configuration_id });
    await until(() => output(work, job).includes("tick 1"));
    expect(await locksOf(job)).toHaveLength(1);
    await user.client.call("cancelJob", { params: { id: job.id } });
    const end = await user.released(job);
    expect(end).toMatchObject({ status: "CANCELLED", log_complete: true, outcome_unknown: true });
    expect(end.error_message).toMatch(
      /^cancelled during apply; apply: it did not stop in time and was killed \(exit code 137\); outcome unknown.*; the state was left locked, lock ID /,
    );
    // The processes are dead before the end is reported.
    expect(processesOf(work).filter((line) => /terraform|tofu|sleep/.test(line))).toEqual([]);
    expect(await locksOf(job)).toHaveLength(1);
    await nextWaits(user, configuration_id);
  });
});

/** The next job would create again what the cancelled one has created and not saved. */
async function nextWaits(user: User, configuration_id: string): Promise<void> {
  const next = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect((await user.read(next)).waiting_reason).toBe("state_locked");
  await user.client.call("cancelJob", { params: { id: next.id } });
}

/** An apply that waits for a server, as for a cloud that is slow, and cannot be stopped meanwhile. */
const waitingFor = (address: string) => ({
  source: {
    type: "inline" as const,
    files: {
      "main.tf": `resource "terraform_data" "first" {}
        data "terraform_remote_state" "slow" {
          backend    = "http"
          config     = { address = "${address}" }
          depends_on = [terraform_data.first]
        }`,
    },
  },
});

describe.each([
  ["cancelled", "cancelled during apply"],
  ["timed out", "timed out after 15 s during apply"],
  ["stopped with its agent", "the agent was stopped during apply"],
  ["cancelled after another program's interrupt", "cancelled during apply"],
] as const)("an apply that is %s", (how, said) => {
  test("and interrupted twice has an unknown outcome, and its state is locked", async () => {
    const asked = Promise.withResolvers<void>();
    await using slow = await listen(createServer(() => asked.resolve()));
    const isOurs = !how.includes("another");
    await using owner = await userMachine(plane, {
      agent: {
        ...isolationForHeldApply,
        WINDLASS_APPLY_GRACE_SECONDS: isOurs ? "0.5" : "60",
        WINDLASS_KILL_GRACE_SECONDS: "30",
      },
    });
    const { user, work, agent } = owner;
    const configuration_id = await user.configure({
      ...waitingFor(slow.url),
      ...(how === "timed out" ? { timeout_seconds: 15 } : {}),
    });
    const job = await user.queue({ job_type: "DEPLOY", configuration_id });
    await asked.promise;
    if (how === "stopped with its agent") {
      agent.kill("SIGTERM");
      await until(() => agent.log().includes("no new jobs"));
      agent.kill("SIGTERM");
    } else if (how !== "timed out") {
      await user.client.call("cancelJob", { params: { id: job.id } });
      await until(() => output(work, job).includes("Interrupt received"));
    }
    if (!isOurs)
      for (const line of processesOf(join(work, "workspaces", job.id)))
        if (isApply(line)) process.kill(Number.parseInt(line, 10), "SIGINT");
    const end = await user.released(job);
    expect(end).toMatchObject({
      status: how === "timed out" ? "FAILED" : "CANCELLED",
      log_complete: true,
      outcome_unknown: true,
      ...(how === "timed out" ? { failure: { kind: "timed_out" } } : {}),
      error_message: expect.stringContaining(
        `${said}; apply: it was interrupted twice, so it did not wait for what it was changing (exit code 1); outcome unknown`,
      ),
    });
    // Terraform has removed its own lock.
    expect(await locksOf(job)).toMatchObject([{ lock_id: `unknown-${job.id}` }]);
    await nextWaits(user, configuration_id);
  });
});
