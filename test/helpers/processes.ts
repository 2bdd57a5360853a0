/** Looks at the processes of this machine. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/**
 * Who works in the directory, or names it in arguments or environment, as `pid: command`. Linux only, where the checks run;
 * elsewhere there is no /proc to read.
 */
export function processesOf(directory: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      const command = read(() => readFileSync(`/proc/${pid}/cmdline`, "latin1"));
      // The kernel's own, and zombies.
      if (command === "") return [];
      const isOfIt =
        command.includes(directory) ||
        read(() => readlinkSync(`/proc/${pid}/cwd`)).includes(directory) ||
        read(() => readFileSync(`/proc/${pid}/environ`, "latin1")).includes(directory);
      return isOfIt ? [`${pid}: ${command.replaceAll("\0", " ").trim().slice(0, 300)}`] : [];
    });
}

/** A process may end, or belong to somebody else, while it is looked at: then it says nothing about itself. */
function read(what: () => string): string {
  try {
    return what();
  } catch {
    return "";
  }
}
