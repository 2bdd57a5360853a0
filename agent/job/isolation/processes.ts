/**
 * Finds the processes of a job and kills them. Only on Linux: other systems have no /proc, and
 * nothing is found.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Returns the processes of a user, by any of its four ids. */
export function processesOf(user: number): number[] {
  return living((pid, status) => {
    const ids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
    return ids.includes(String(user));
  });
}

/** Returns the processes that were started with this entry, `NAME=value`, in their environment. */
export function processesWith(entry: string): number[] {
  const own = `\nUid:\t${process.getuid?.()}\t`;
  return living((pid, status) => {
    if (process.getuid?.() !== 0 && !status.includes(own)) return false;
    return `\0${read(`/proc/${pid}/environ`)}`.includes(`\0${entry}\0`);
  });
}

/** How long killed processes may take to end. */
const limit = 5000;

/**
 * Kills what is found, again and again until nothing is found. Returns what is still alive after
 * five seconds.
 */
export async function endAll(
  find: () => number[],
  end: (pids: number[]) => void | Promise<void>,
): Promise<number[]> {
  const deadline = performance.now() + limit;
  for (let pause = 1; ; pause = Math.min(pause * 2, 100)) {
    const pids = find();
    if (pids.length === 0 || performance.now() > deadline) return pids;
    await end(pids);
    await sleep(pause);
  }
}

/** Sends SIGKILL to each. */
export function killEach(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** A zombie has ended; its parent has not yet read its exit code. */
function living(which: (pid: number, status: string) => boolean): number[] {
  return processIds().filter((pid) => {
    const status = read(`/proc/${pid}/status`);
    return status !== "" && !/^State:\s+[ZX]/m.test(status) && which(pid, status);
  });
}

function processIds(): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid);
}

/** Returns an empty text if the process has just ended or belongs to another user. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return "";
    throw error;
  }
}
