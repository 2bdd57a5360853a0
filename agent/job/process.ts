/**
 * Runs terraform so that it belongs to itself: own session, output on files, exit code renamed into place by a fixed wrapper. The
 * agent only watches; one that was killed and started again watches on. Starting and adopting are the same call.
 *
 * A run directory holds `stdout`, `stderr` and, one after the other: `started` (the wrapper's identity, made with O_EXCL: who
 * makes it decides, so a run happens at most once), `child` (the command's identity, for signals), `exit` (its exit code).
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfExists } from "../files.ts";
import {
  bootId,
  identityOf,
  isAlive,
  parseIdentity,
  type ProcessIdentity,
} from "../process-identity.ts";

/**
 * Fixed text; what varies comes as arguments and is never read as shell. `set -C` makes `>` fail on an existing file. The
 * command runs in the foreground, so that SIGINT is not ignored in it, and `exec` keeps the pid that `child` names.
 * `/proc/self` is whoever opens it, here the shell itself, as `read` is built in; without /proc the pid alone is written.
 */
const wrapper = `
dir=$1; shift
boot=; { read -r boot < /proc/sys/kernel/random/boot_id; } 2>/dev/null
whoami() { { read -r me < /proc/self/stat; } 2>/dev/null || me=$(exec sh -c 'echo $PPID'); }
whoami; set -C
{ printf '%s\\n%s\\n' "$me" "$boot" > "$dir/started"; } 2>/dev/null || exit 0
set +C
( whoami; printf '%s\\n%s\\n' "$me" "$boot" > "$dir/child"; exec "$@" )
echo $? > "$dir/exit.tmp" && mv "$dir/exit.tmp" "$dir/exit"
`;

export interface RunCommand {
  /** The run directory; one per command that is to happen once. */
  readonly directory: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export type RunEnd =
  | { readonly kind: "exited"; readonly code: number }
  /** The command never ran, and never will. */
  | { readonly kind: "never started"; readonly reason: string }
  /** It ran and is gone without an exit code: the machine went down, or somebody killed the wrapper. */
  | { readonly kind: "unknown" };

export interface StopPatience {
  /** From the first SIGINT to the second, in milliseconds. */
  readonly first: number;
  /** From the second SIGINT to SIGKILL. 0: no second SIGINT, SIGKILL at once. */
  readonly second: number;
}

export interface Run {
  /** Resolves once, after everything left of the command's process group was killed. */
  readonly ended: Promise<RunEnd>;
  /** Climbs the ladder: SIGINT, patience, SIGINT, patience, SIGKILL. `interrupted`: a former agent has sent the first SIGINT. */
  stop(patience: StopPatience, interrupted: boolean): Promise<void>;
}

/** Starts the command, or watches the one that runs or has run in this directory. */
export function openRun(command: RunCommand): Run {
  mkdirSync(command.directory, { recursive: true, mode: 0o700 });
  const known = readStarted(command.directory);
  const spawned = known === undefined ? spawnWrapper(command) : undefined;
  const ended = watch(command.directory, spawned).then((end) => {
    killGroup(command.directory);
    return end;
  });
  return {
    ended,
    stop: (patience, interrupted) => stop(command.directory, ended, patience, interrupted),
  };
}

/** How often a run is looked at when nothing hints that it ended: adopted runs, and as a safety net. */
const lookEvery = 250;
/** The wrapper writes `started` a moment after making it; a wrapper killed in between leaves it empty for good. */
const startedWriteLimit = 5000;

interface Spawned {
  /** Resolves when the wrapper that this agent spawned is gone: a hint to look at once. */
  readonly gone: Promise<void>;
  failure: string | undefined;
  isGone: boolean;
}

function spawnWrapper({ directory, command, args, cwd, env }: RunCommand): Spawned {
  const stdout = openSync(join(directory, "stdout"), "a", 0o600);
  const stderr = openSync(join(directory, "stderr"), "a", 0o600);
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const spawned: Spawned = { gone, failure: undefined, isGone: false };
  const end = (failure?: Error): void => {
    spawned.failure ??= failure?.message;
    spawned.isGone = true;
    resolve();
  };
  try {
    const child = spawn("/bin/sh", ["-c", wrapper, "windlass-run", directory, command, ...args], {
      cwd,
      env: { ...env },
      detached: true,
      stdio: ["ignore", stdout, stderr],
    });
    child.once("exit", () => end());
    child.once("error", end);
    // A waiting job keeps the agent alive by itself; a third signal must be able to leave terraform behind.
    child.unref();
  } catch (error) {
    // An argument or variable over the kernel's limit (128 KiB) makes spawn throw E2BIG.
    end(error as Error);
  } finally {
    closeSync(stdout);
    closeSync(stderr);
  }
  return spawned;
}

async function watch(directory: string, spawned: Spawned | undefined): Promise<RunEnd> {
  const emptySince = performance.now();
  for (;;) {
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
    // The wrapper may have made `started` between the two looks.
    if (readStarted(directory) !== undefined) return undefined;
    return { kind: "never started", reason: spawned.failure ?? "the shell did not start" };
  }
  if (started === "blocked") return { kind: "never started", reason: "stopped before its start" };
  if (started === "empty") return emptyForLong ? { kind: "unknown" } : undefined;
  if (isAlive(started) || isChildAlive(directory)) return undefined;
  // It may have ended properly since `exit` was looked for.
  return readExit(directory) ?? { kind: "unknown" };
}

async function stop(
  directory: string,
  ended: Promise<RunEnd>,
  patience: StopPatience,
  interrupted: boolean,
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
  if (block(directory)) return end;
  // The child's identity is written right after the start; a signal before it would have no address.
  for (let tries = 0; !over && !readChild(directory) && tries < 100; tries++) await wait(10);
  if (!over && !interrupted) signalChild(directory, "SIGINT");
  await wait(patience.first);
  if (!over && patience.second > 0) {
    signalChild(directory, "SIGINT");
    await wait(patience.second);
  }
  if (!over) {
    // Only terraform: the wrapper lives on for the moment that it needs to write down the exit code.
    signalChild(directory, "SIGKILL");
    await wait(2000);
  }
  if (!over) killGroup(directory);
  await end;
}

/** Takes the start away from a wrapper that has not come to it; false when the command has started. */
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

function readExit(directory: string): RunEnd | undefined {
  const text = readIfExists(join(directory, "exit"));
  if (text === undefined) return undefined;
  // Empty after a power cut: the rename was durable, the content was not.
  return /^\d+\n$/.test(text) ? { kind: "exited", code: Number(text) } : { kind: "unknown" };
}

function signalChild(directory: string, signal: NodeJS.Signals): void {
  const child = readChild(directory);
  if (child && isAlive(child)) kill(child.pid, signal);
}

/**
 * Kills what is left of the command's group, e.g. a background process of a provisioner. Members keep the group's number from
 * being used again, so it can only be somebody else's when another process now has the leader's pid.
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
