/** The machine goes down in the middle of an apply: nothing survives but the disk, and the next boot has another name. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endpoints } from "../../protocol/endpoints.ts";
import { userMachine } from "../helpers/user-machine.ts";
import { until } from "../helpers/agent-process.ts";
import { fixtureFiles } from "../helpers/fixtures.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";
import { processesOf } from "../helpers/processes.ts";

const { plane } = planeForFile();

test("an apply whose machine went down is FAILED, its outcome unknown, and the state stays locked until a person unlocks it", async () => {
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

  await pullThePlug(owner.agent.pid, work);
  bootAgain(join(work, "jobs", job.id));

  owner.restart();
  const end = await user.released(job);
  expect(end).toMatchObject({ status: "FAILED", log_complete: true, attempt: 1 });
  expect(end.error_message).toMatch(/^apply: the machine was restarted; outcome unknown/);
  expect(end.error_message).toContain(`the state is locked, lock ID ${lock.lock_id}:`);
  await until(() => readdirSync(join(work, "jobs")).length === 0);

  // The next one waits for somebody who has looked.
  const next = await user.queue({ job_type: "DESTROY", configuration_id });
  expect((await user.read(next)).waiting_reason).toBe("state_locked");
  await user.call(endpoints.breakStateLock, { params: { name: configuration_id } });
  expect(await user.released(next)).toMatchObject({ status: "SUCCESS" });
});

/** Everything of the agent and its jobs is gone in one moment. */
async function pullThePlug(agent: number, work: string): Promise<void> {
  process.kill(agent, "SIGKILL");
  await until(() => {
    const pids = processesOf(work).map((line) => Number.parseInt(line, 10));
    for (const pid of pids) kill(pid);
    return pids.length === 0;
  });
}

/** Puts what was written down into an earlier boot, and takes away what a dead machine cannot have written. */
function bootAgain(directory: string): void {
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
    rmSync(join(directory, "runs", run, "exit"), { force: true });
  }
}

/** It may end by itself in this moment. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
