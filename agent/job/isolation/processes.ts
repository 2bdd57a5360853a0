/** Finds and kills the processes of a job; nothing on systems without /proc. */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { kibibyte } from "../../../common/units.ts";

/** Returns the processes of a user, by any of its four ids. */
export function processesOf(user: number): number[] {
  const ids = new RegExp(`^Uid:\\s(?:.*\\s)?${user}(?:\\s|$)`, "m");
  return processIds().filter((pid) => {
    const status = read(`/proc/${pid}/status`).toString("latin1");
    // A zombie has ended; its parent has not yet read its exit code.
    return ids.test(status) && !/^State:\s+[ZX]/m.test(status);
  });
}

/** Returns the processes that were started with this entry, `NAME=value`, in their environment. */
export function processesWith(entry: string): number[] {
  const user = process.getuid?.() ?? 0;
  const mark = Buffer.from(`\0${entry}\0`, "latin1");
  return processIds().filter((pid) => {
    // The environments of other users' processes are readable only for root.
    if (user !== 0 && ownerOf(pid) !== user) return false;
    // Empty for a zombie.
    const environment = read(`/proc/${pid}/environ`);
    return environment.indexOf(mark) >= 0 || environment.indexOf(mark.subarray(1)) === 0;
  });
}

/** How long killed processes may take to end. */
const limit = 5000;

/** Kills until nothing is found. Returns what is still alive after five seconds. */
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

export function killEach(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

function processIds(): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid);
}

const ownerOf = (pid: number): number | undefined =>
  statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;

/**
 * A job waits for this after each command. One buffer, because `readFileSync` allocates 64 KiB for
 * each file of /proc, which took eight times as long.
 */
let buffer = Buffer.allocUnsafeSlow(64 * kibibyte);

/** Valid until the next call. Empty if the process has ended or belongs to another user. */
function read(path: string): Buffer {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    let length = 0;
    for (;;) {
      const count = readSync(file, buffer, length, buffer.length - length, null);
      if (count === 0) return buffer.subarray(0, length);
      length += count;
      if (length === buffer.length) buffer = Buffer.concat([buffer], length * 2);
    }
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return buffer.subarray(0, 0);
    throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
