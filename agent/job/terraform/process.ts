/**
 * Runs terraform independently of the agent: in its own session, with output to files, below a
 * fixed wrapper that writes the exit code to a file. The agent only watches; an agent that was
 * killed and started again continues to watch. Starting and adopting are the same call.
 *
 * A run directory contains `stdout`, `stderr` and, in this order: `started` (the wrapper's
 * identity, created with O_EXCL, so that a run happens at most once), `child` (the command's
 * identity, for signals), `told` (which process runs in the sandbox), `code` (`---`, then the exit
 * code in its place). The wrapper of an older agent writes `exit` instead.
 */
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfExists } from "../../../common/files.ts";
import {
  bootId,
  identityOf,
  isAlive,
  parentOf,
  parseIdentity,
  type ProcessIdentity,
} from "../../machine/process-identity.ts";
import { prepareRun, type PreparedRun, type RunCommand, type Spawned } from "./spawn.ts";

export type RunEnd =
  | { readonly kind: "exited"; readonly code: number }
  /** The command never ran, and never will. */
  | { readonly kind: "never started"; readonly reason: string }
  /** It ran and ended without an exit code: the machine went down, or the wrapper was killed. */
  | { readonly kind: "unknown" };

export interface StopPatience {
  /** From the first SIGINT to the second, in milliseconds. */
  readonly first: number;
  /** From the second SIGINT to SIGKILL. 0: SIGKILL at once, without a second SIGINT. */
  readonly second: number;
}

export interface Run {
  /** Resolves once, after everything left of the command's process group was killed. */
  readonly ended: Promise<RunEnd>;
  /**
   * SIGINT, grace, SIGINT, grace, SIGKILL. `sent`: SIGINTs of a former agent; `onInterrupt` is
   * called before the others.
   */
  stop(patience: StopPatience, sent: number, onInterrupt?: () => void): Promise<void>;
}

/**
 * Starts the command, or watches the one of this directory. `prepared`: a wrapper that waits for
 * it. `endRest` ends what left its process group. `over`: another watches it from then on.
 */
export function openRun(
  command: RunCommand,
  prepared?: PreparedRun,
  endRest?: () => Promise<unknown>,
  over?: AbortSignal,
): Run {
  const isNew = readStarted(command.directory) === undefined;
  const spawned = isNew ? (prepared ?? prepareRun(command)) : undefined;
  spawned?.go();
  const ended = watch(command.directory, spawned, over).then(async (end) => {
    killGroup(command.directory);
    await endRest?.();
    return end;
  });
  // After an error of the agent, nothing may wait for it.
  ended.catch(() => undefined);
  return {
    ended,
    stop: (patience, sent, onInterrupt) =>
      stop(command.directory, ended, patience, sent, onInterrupt),
  };
}

/** Whether the command of this directory is running on this machine. */
export function isRunning(directory: string): boolean {
  const started = readStarted(directory);
  return (typeof started === "object" && isAlive(started)) || isChildAlive(directory);
}

/** Whether a command of a job is running, by the directory of its commands. */
export const isAnyRunning = (runs: string): boolean =>
  existsSync(runs) && readdirSync(runs).some((run) => isRunning(join(runs, run)));

/** Whether the command of this directory has left an exit code. */
export const hasExited = (directory: string): boolean => readExit(directory) !== undefined;

/**
 * Undefined before its exit code. A job that runs as the agent's user can choose the time of the
 * file; one before 1970 may have no text that the server accepts.
 */
export function exitTime(directory: string): Date | undefined {
  if (!hasExited(directory)) return undefined;
  const stat = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false });
  const time = (stat("code") ?? stat("exit"))?.mtime;
  return time && time.getTime() >= 0 ? time : undefined;
}

/** How often a run is checked: adopted ones have no events, and one may be lost. */
const lookEvery = 250;
/** The wrapper writes `started` just after creating it, or never if it is killed in between. */
const startedWriteLimit = 5000;

async function watch(
  directory: string,
  spawned: Spawned | undefined,
  over: AbortSignal | undefined,
): Promise<RunEnd> {
  const emptySince = performance.now();
  for (;;) {
    over?.throwIfAborted();
    const end = look(directory, spawned, performance.now() - emptySince > startedWriteLimit);
    if (end) return end;
    const tick = new AbortController();
    const pause = sleep(lookEvery, undefined, { signal: tick.signal }).catch(() => undefined);
    await (spawned && !spawned.isGone ? Promise.race([spawned.gone, pause]) : pause);
    tick.abort();
  }
}

function look(
  directory: string,
  spawned: Spawned | undefined,
  emptyForLong: boolean,
): RunEnd | undefined {
  const exit = readExit(directory);
  if (exit) return exit;
  const started = readStarted(directory);
  if (started === undefined) {
    if (!spawned?.isGone) return undefined;
    // The wrapper may have created `started` between the two checks.
    if (readStarted(directory) !== undefined) return undefined;
    return { kind: "never started", reason: spawned.failure ?? "the shell could not be started" };
  }
  if (started === "blocked") return { kind: "never started", reason: "stopped before its start" };
  if (started === "empty") return emptyForLong ? { kind: "unknown" } : undefined;
  if (isAlive(started) || isChildAlive(directory)) return undefined;
  // It may have ended normally since `exit` was checked.
  return readExit(directory) ?? { kind: "unknown" };
}

async function stop(
  directory: string,
  ended: Promise<RunEnd>,
  patience: StopPatience,
  sent: number,
  onInterrupt?: () => void,
): Promise<void> {
  let over = false;
  const end = ended.then(() => {
    over = true;
  });
  const wait = async (milliseconds: number): Promise<void> => {
    const timer = new AbortController();
    const pause = sleep(milliseconds, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([end, pause]);
    timer.abort();
  };
  const interrupt = (): void => {
    onInterrupt?.();
    signalChild(directory, "SIGINT");
  };
  if (block(directory)) return end;
  // The child's identity is written right after the start. Before that there is no process to
  // signal.
  for (let tries = 0; !over && !readChild(directory) && tries < 100; tries++) await wait(10);
  if (!over && sent < 1) interrupt();
  if (sent < 2) await wait(patience.first);
  if (!over && patience.second > 0) {
    if (sent < 2) interrupt();
    await wait(patience.second);
  }
  if (!over) {
    // Only terraform: the wrapper stays for the moment that it needs to write the exit code.
    signalChild(directory, "SIGKILL");
    await wait(2000);
  }
  if (!over) killGroup(directory);
  await end;
}

/** Returns false if the wrapper has started the command. */
function block(directory: string): boolean {
  try {
    writeFileSync(join(directory, "started"), "blocked\n", { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function readStarted(directory: string): ProcessIdentity | "blocked" | "empty" | undefined {
  const text = readIfExists(join(directory, "started"));
  if (text === undefined) return undefined;
  if (!text.endsWith("\n")) return "empty";
  return text === "blocked\n" ? "blocked" : (parseIdentity(text) ?? "empty");
}

function readChild(directory: string): ProcessIdentity | undefined {
  const text = readIfExists(join(directory, "child"));
  return text?.endsWith("\n") ? parseIdentity(text) : undefined;
}

function isChildAlive(directory: string): boolean {
  const child = readChild(directory);
  return child !== undefined && isAlive(child);
}

/** Returns undefined before the end, and also if a power failure has left the file empty. */
function readExit(directory: string): RunEnd | undefined {
  for (const name of ["code", "exit"]) {
    const text = readIfExists(join(directory, name)) ?? "";
    if (/^\d+\n$/.test(text)) return { kind: "exited", code: Number(text) };
  }
  return undefined;
}

function signalChild(directory: string, signal: NodeJS.Signals): void {
  const child = readChild(directory);
  if (child && isAlive(child)) kill(toldChild(directory, child.pid) ?? child.pid, signal);
}

/** Only a child of the sandbox, so that a job cannot name the process of another. */
function toldChild(directory: string, sandbox: number): number | undefined {
  const [, told] = /"child-pid": (\d+)/.exec(readIfExists(join(directory, "told")) ?? "") ?? [];
  return told !== undefined && parentOf(Number(told)) === sandbox ? Number(told) : undefined;
}

/**
 * Kills the rest of the command's group, such as of a provisioner. Members keep its number in use:
 * it is another command's only if another process has the leader's pid.
 */
function killGroup(directory: string): void {
  const started = readStarted(directory);
  if (typeof started !== "object" || started.boot !== bootId()) return;
  const now = identityOf(started.pid);
  if (now && now.start !== started.start) return;
  kill(-started.pid, "SIGKILL");
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
