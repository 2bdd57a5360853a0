/**
 * A pid with its start time and boot, which the kernel does not reuse together. Without `/proc`
 * (macOS), the pid alone is trusted.
 */
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of `/proc/PID/stat`: clock ticks from boot to the start of the process. */
  readonly start: string | null;
  readonly boot: string | null;
}

/** Parses two lines of the process wrapper: `/proc/PID/stat` (or only a pid), and the boot's id. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const [line = "", boot = ""] = text.split("\n");
  const pid = Number(/^\d+\b/.exec(line)?.[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const start = statFields(line)[19] ?? null;
  return { pid, start, boot: boot === "" ? null : boot };
}

/** Undefined if there is no such process, or only a zombie. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const line = readProc(`/proc/${pid}/stat`);
  if (line === undefined) {
    return bootId() === null && answersSignals(pid) ? { pid, start: null, boot: null } : undefined;
  }
  const state = statFields(line)[0];
  return state === "Z" || state === "X"
    ? undefined
    : parseIdentity(`${line.trimEnd()}\n${bootId() ?? ""}`);
}

/** Undefined without such a process or without `/proc`. */
export function parentOf(pid: number): number | undefined {
  const parent = Number(statFields(readProc(`/proc/${pid}/stat`) ?? "")[1]);
  return parent > 0 ? parent : undefined;
}

/** Whether exactly this process is still running. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = identityOf(identity.pid);
  return now !== undefined && now.start === identity.start && now.boot === identity.boot;
}

/** Returns a text that changes with every boot of the machine, or null without `/proc`. */
export function bootId(): string | null {
  boot ??= { id: readProc("/proc/sys/kernel/random/boot_id")?.trim() ?? null };
  return boot.id;
}

let boot: { id: string | null } | undefined;

/** The fields after the name, which may contain anything, in parentheses; the state is first. */
function statFields(line: string): string[] {
  const end = line.lastIndexOf(")");
  return end < 0
    ? []
    : line
        .slice(end + 2)
        .trim()
        .split(" ");
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    // ESRCH: the process ended between open and read.
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES") return undefined;
    throw error;
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
