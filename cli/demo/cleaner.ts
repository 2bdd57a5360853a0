/**
 * A process of its own that outlives the demo by a moment and leaves nothing of it behind. It reads from stdin which processes
 * the demo has started; when stdin ends, it stops them and removes their directory. Stdin ends when the demo says so, and also
 * when the demo crashes or is killed: so there is one way to clean up, and it always runs.
 *
 * Arguments: the directory, and how many milliseconds a process has to end after the second SIGTERM. Lines: `start <pid>`,
 * `ended <pid>`, `keep-logs`.
 */
import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const [, , directory, patience = "30000"] = process.argv;
if (directory === undefined) throw new Error("the keeper needs the directory that it keeps");

const running: number[] = [];
let keepLogs = false;

for await (const line of createInterface({ input: process.stdin })) {
  const [word, pid = ""] = line.split(" ");
  if (word === "start") running.push(Number(pid));
  if (word === "ended") running.splice(running.indexOf(Number(pid)), 1);
  if (word === "keep-logs") keepLogs = true;
}

// The runner before the control plane that it reports to.
for (const pid of running.toReversed()) await stop(pid);
await sweep(directory);
for (const name of readdirSync(directory)) {
  if (!(keepLogs && name === "logs")) remove(join(directory, name));
}
if (!keepLogs) remove(directory);

/** The first SIGTERM drains, the second one cancels what runs, by a ladder that takes its time; only who ignores both is killed. */
async function stop(pid: number): Promise<void> {
  signal(pid, "SIGTERM");
  if (await gone(pid, 500)) return;
  signal(pid, "SIGTERM");
  if (await gone(pid, Number(patience))) return;
  signal(-pid, "SIGKILL");
  await gone(pid, 1000);
}

async function gone(pid: number, within: number): Promise<boolean> {
  const deadline = Date.now() + within;
  while (isAlive(pid)) {
    if (Date.now() >= deadline) return false;
    await sleep(20);
  }
  return true;
}

/**
 * Terraform is meant to survive its agent, so one whose agent was killed is still there. It works inside the directory, and so
 * do its children. (Where there is no /proc, they end by themselves.)
 */
async function sweep(inside: string): Promise<void> {
  if (process.platform !== "linux") return;
  const deadline = Date.now() + 5000;
  let left = processesIn(inside);
  while (left.length > 0 && Date.now() < deadline) {
    for (const pid of left) signal(pid, "SIGKILL");
    await sleep(20);
    left = processesIn(inside);
  }
}

/** By working directory or arguments; whoever has a terminal is a person who looks around in there, and is left alone. */
function processesIn(inside: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      const looks = [
        () => readlinkSync(`/proc/${pid}/cwd`),
        () => readFileSync(`/proc/${pid}/cmdline`, "latin1"),
      ];
      const [, , , , terminal] = statOf(pid);
      return terminal === "0" && looks.some((look) => readable(look).includes(inside));
    })
    .map(Number);
}

/** State, parent, group, session, terminal, …: what follows the name in /proc/PID/stat. */
function statOf(pid: number | string): string[] {
  const text = readable(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** A process that ends while it is looked at, or belongs to somebody else, is none of ours. */
function readable(look: () => string): string {
  try {
    return look();
  } catch {
    return "";
  }
}

function isAlive(pid: number): boolean {
  // One that has ended and waits for its parent to notice can still be signalled.
  return signal(pid, 0) && statOf(pid)[0] !== "Z";
}

/** Whether there was somebody to signal. */
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
