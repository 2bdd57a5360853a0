/** Finds and ends processes of this machine. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/**
 * Returns the processes that work in the directory or name it in arguments or environment, as `pid:
 * command`. Linux only, where the checks run: other systems have no /proc.
 */
export function processesOf(directory: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      const command = read(() => readFileSync(`/proc/${pid}/cmdline`, "latin1"));
      // Kernel threads and zombies.
      if (command === "") return [];
      const isOfIt =
        command.includes(directory) ||
        read(() => readlinkSync(`/proc/${pid}/cwd`)).includes(directory) ||
        read(() => readFileSync(`/proc/${pid}/environ`, "latin1")).includes(directory);
      return isOfIt ? [`${pid}: ${command.replaceAll("\0", " ").trim().slice(0, 300)}`] : [];
    });
}

/** Kills the processes that `processesOf` returns. */
export function killProcessesOf(directory: string): void {
  for (const line of processesOf(directory)) {
    try {
      process.kill(Number.parseInt(line, 10), "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

/** A process may end, or belong to another user, while it is read: then the result is empty. */
function read(what: () => string): string {
  try {
    return what();
  } catch {
    return "";
  }
}
