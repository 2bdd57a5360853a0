/**
 * The cleanup process of `windlass demo` and `windlass dev`. It reads from stdin which processes they
 * have started. When stdin ends, it stops them and removes their directory. Stdin also ends when its
 * parent crashes or is killed, so this cleanup always runs.
 *
 * Arguments: the directory, and how many milliseconds a process may take to end after the second
 * SIGTERM. Lines: `start <pid>`, `ended <pid>`, `keep-logs`, `keep`. With `keep`, nothing is killed
 * or removed: a runner that takes longer saves a state, which the next start continues with.
 */
import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const [, , directory, stopTimeout = "30000"] = process.argv;
if (directory === undefined) throw new Error("Missing argument: the directory of the demo.");

const running: number[] = [];
let keepLogs = false;
let keep = false;

for await (const line of createInterface({ input: process.stdin })) {
  const [word, pid = ""] = line.split(" ");
  if (word === "start") running.push(Number(pid));
  if (word === "ended") running.splice(running.indexOf(Number(pid)), 1);
  if (word === "keep-logs") keepLogs = true;
  if (word === "keep") keep = true;
}

// Last started, first stopped: the runner ends before the control plane that it reports to.
for (const pid of running.toReversed()) await stop(pid);
if (!keep) {
  await sweep(directory);
  for (const name of readdirSync(directory)) {
    if (!(keepLogs && name === "logs")) remove(join(directory, name));
  }
  if (!keepLogs) remove(directory);
}

/** Sends SIGTERM to drain, SIGTERM again to cancel running jobs, and SIGKILL if neither helps. */
async function stop(pid: number): Promise<void> {
  signal(pid, "SIGTERM");
  if (await hasEnded(pid, 500)) return;
  signal(pid, "SIGTERM");
  if ((await hasEnded(pid, Number(stopTimeout))) || keep) return;
  signal(-pid, "SIGKILL");
  await hasEnded(pid, 1000);
}

async function hasEnded(pid: number, within: number): Promise<boolean> {
  const deadline = performance.now() + within;
  while (isAlive(pid)) {
    if (performance.now() >= deadline) return false;
    await sleep(20);
  }
  return true;
}

/** Terraform survives the death of its agent by design. Without /proc, it ends by itself. */
async function sweep(inside: string): Promise<void> {
  if (process.platform !== "linux") return;
  const deadline = performance.now() + 5000;
  let remaining = processesIn(inside);
  while (remaining.length > 0 && performance.now() < deadline) {
    for (const pid of remaining) signal(pid, "SIGKILL");
    await sleep(20);
    remaining = processesIn(inside);
  }
}

/** By working directory or arguments, without those of a user who looks around in a terminal. */
function processesIn(inside: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      const sources = [
        () => readlinkSync(`/proc/${pid}/cwd`),
        () => readFileSync(`/proc/${pid}/cmdline`, "latin1"),
      ];
      const [, , , , terminal] = statOf(pid);
      return terminal === "0" && sources.some((read) => readOrEmpty(read).includes(inside));
    })
    .map(Number);
}

/** Returns the fields of /proc/PID/stat after the name: state, parent, group, session, terminal… */
function statOf(pid: number | string): string[] {
  const text = readOrEmpty(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** Returns "" if the process has ended in the meantime or belongs to another user. */
function readOrEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

function isAlive(pid: number): boolean {
  // A zombie, which waits for its parent to reap it, can still be signalled.
  return signal(pid, 0) && statOf(pid)[0] !== "Z";
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}
