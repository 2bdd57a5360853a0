/** Finding the processes of a job by their environment or user. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { processesOf, processesWith } from "../../../../agent/job/isolation/processes.ts";
import { until } from "../../../helpers/agent/agent-process.ts";

const mark = `WINDLASS_JOB=${process.pid}-processes-test`;
const started: ChildProcess[] = [];

function start(env: Record<string, string>): number {
  const child = spawn("/bin/sleep", ["60"], { env, stdio: "ignore" });
  started.push(child);
  return child.pid!;
}

afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

const [name, value] = mark.split("=") as [string, string];

test("finds a process by its environment, wherever the entry is and however long the rest", async () => {
  const pids = [
    start({ [name]: value, OTHER: "1" }),
    start({ OTHER: "1", [name]: value }),
    start({ OTHER: "x".repeat(100_000), [name]: value }),
  ];
  start({ [name]: `${value}0` });
  start({ [`${name}S`]: value });
  await until(() => processesWith(mark).length >= pids.length);
  expect(new Set(processesWith(mark))).toEqual(new Set(pids));
});

test("finds the processes of a user, and never this one", () => {
  const own = start({});
  const found = processesOf(process.getuid!());
  expect(found).toContain(own);
  expect(found).not.toContain(process.pid);
  expect(processesOf(2 ** 31 - 7)).toEqual([]);
});

test("does not find a process that has ended and was not waited for", async () => {
  // The shell replaces itself, so nothing waits for its child.
  const child = spawn("/bin/sh", ["-c", "sleep 0 & echo $!; exec sleep 60"], {
    env: { PATH: process.env["PATH"], [name]: value },
    stdio: ["ignore", "pipe", "ignore"],
  });
  started.push(child);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  await until(() => processesWith(mark).length === 1);
  expect(processesWith(mark)).toEqual([child.pid]);
  expect(Number(line)).toBeGreaterThan(0);
});
