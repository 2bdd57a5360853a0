/** The machine reboots during an apply: only the disk survives, and the boot id is new. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { fixtureFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";

const { plane } = planeForFile();

test("an apply during a reboot is FAILED with its outcome unknown, and the state stays locked until a user unlocks it", async () => {
  await using owner = await userMachine(plane, { agent: {} });
  const { user, work } = owner;
  const configuration_id = await user.configure({
    source: { type: "inline", files: fixtureFiles("long-running") },
    variables: { seconds: { value: 60 } },
  });
  const job = await user.queue({ job_type: "DEPLOY", configuration_id });
  await until(() => processesOf(work).some((line) => line.includes("sleep 1")));
  const lock = await plane.context.store.read.sql
    .selectFrom("state_locks")
    .selectAll()
    .where("job_id", "=", job.id)
    .executeTakeFirstOrThrow();

  await killEverything(owner.agent.pid, work);
  simulateReboot(join(work, "jobs", job.id));

  owner.restart();
  const end = await user.released(job);
  expect(end).toMatchObject({ status: "FAILED", log_complete: true, attempt: 1 });
  expect(end.error_message).toMatch(/^apply: the machine was restarted; outcome unknown/);
  expect(end.error_message).toContain(`the state was left locked, lock ID ${lock.lock_id}:`);
  await until(() => readdirSync(join(work, "jobs")).length === 0);

  // The next job waits until a user has unlocked the state.
  const next = await user.queue({ job_type: "DESTROY", configuration_id });
  expect((await user.read(next)).waiting_reason).toBe("state_locked");
  await user.client.call("breakStateLock", { params: { name: configuration_id } });
  expect(await user.released(next)).toMatchObject({ status: "SUCCESS" });
});

/** Kills the agent and all processes of its jobs. */
async function killEverything(agent: number, work: string): Promise<void> {
  process.kill(agent, "SIGKILL");
  await until(() => {
    const pids = processesOf(work).map((line) => Number.parseInt(line, 10));
    for (const pid of pids) kill(pid);
    return pids.length === 0;
  });
}

/** Changes the recorded boot id, and removes files that a dead machine cannot have written. */
function simulateReboot(directory: string): void {
  const path = join(directory, "journal.ndjson");
  const earlier = "00000000-0000-4000-8000-000000000000";
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(boot, earlier));
  for (const run of readdirSync(join(directory, "runs")).filter((name) =>
    name.endsWith("-apply"),
  )) {
    for (const name of ["started", "child"]) {
      const file = join(directory, "runs", run, name);
      writeFileSync(file, readFileSync(file, "utf8").replace(boot, earlier));
    }
    rmSync(join(directory, "runs", run, "code"), { force: true });
  }
}

/** Kills a process that may just have ended. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
