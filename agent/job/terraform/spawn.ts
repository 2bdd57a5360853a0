/**
 * Starts the fixed wrapper of a command. Spawning takes 3 ms and the shell 1 ms, a tenth of a small
 * terraform command: so the next one is started while the present one runs, and waits.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";

/**
 * Fixed text; what varies is passed as arguments and never read as shell. `set -C` makes `>` fail
 * on an existing file. The command runs in the foreground, so that SIGINT is not ignored in it, and
 * `exec` keeps the pid that `child` names. `/proc/self` is the process that opens it, here the
 * shell itself, because `read` is built in; without /proc only the pid is written. The wrapper
 * waits on descriptor 3 for a line; if the agent dies before, it reads the end of the file and runs
 * nothing.
 *
 * Terraform survives a first signal and saves its state, so the shell must survive it too (`trap`;
 * the subshell and what it executes get the default back). The wrapper stays outside of the job's
 * control group, so that it survives when the kernel ends the job because of its memory. The exit
 * code overwrites bytes that are on the disk since before the command, so that a disk that the
 * command has filled does not lose it. No program renames it into place: starting one takes 3 ms.
 */
const wrapper = `
dir=$1; told=$2; group=$3; shift 3
boot=; { read -r boot < /proc/sys/kernel/random/boot_id; } 2>/dev/null
whoami() { { read -r me < /proc/self/stat; } 2>/dev/null || me=$(exec sh -c 'echo $PPID'); }
whoami
trap : TERM INT HUP
read -r go <&3 || exit 0
exec 3<&-
set -C
{ printf '%s\\n%s\\n' "$me" "$boot" > "$dir/started"; } 2>/dev/null || exit 0
set +C
echo --- > "$dir/code" || exit 0
(
  whoami
  printf '%s\\n%s\\n' "$me" "$boot" > "$dir/child"
  [ -z "$told" ] || exec 4> "$dir/told"
  [ -z "$group" ] || echo 0 > "$group/cgroup.procs" || exit 126
  exec "$@"
)
printf '%03d\\n' $? 1<> "$dir/code"
`;

export interface RunCommand {
  /** The run directory, one for each command. A command runs at most once in it. */
  readonly directory: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** It writes `{"child-pid": …}` to descriptor 4: signals go to that process instead. */
  readonly tellsChild?: true;
  /** The control group that the command runs in. */
  readonly group?: string;
}

/** The wrapper process, as this agent sees it. */
export interface Spawned {
  /** Resolves when the process has ended, so that the run is checked at once. */
  readonly gone: Promise<void>;
  readonly isGone: boolean;
  /** Why it could not be started. */
  readonly failure: string | undefined;
}

export interface PreparedRun extends Spawned {
  readonly command: RunCommand;
  /** Lets the command run. */
  go(): void;
  /** Ends the wrapper; the command has not run and never will. */
  cancel(): void;
}

/** Creates the run directory and a wrapper in it that waits. */
export function prepareRun(command: RunCommand): PreparedRun {
  const { directory } = command;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const stdout = openSync(join(directory, "stdout"), "a", 0o600);
  const stderr = openSync(join(directory, "stderr"), "a", 0o600);
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const state: { failure: string | undefined; isGone: boolean; word?: Socket } = {
    failure: undefined,
    isGone: false,
  };
  const end = (failure?: Error): void => {
    state.failure ??= failure?.message;
    state.isGone = true;
    resolve();
  };
  try {
    state.word = spawnWrapper(command, [stdout, stderr], end);
  } catch (error) {
    // An argument or variable beyond the kernel's limit (128 KiB) makes spawn throw E2BIG.
    end(error as Error);
  } finally {
    closeSync(stdout);
    closeSync(stderr);
  }
  return {
    command,
    gone,
    get isGone() {
      return state.isGone;
    },
    get failure() {
      return state.failure;
    },
    go: () => state.word?.end("go\n"),
    cancel: () => state.word?.destroy(),
  };
}

function spawnWrapper(
  { directory, command, args, cwd, env, tellsChild, group = "" }: RunCommand,
  [stdout, stderr]: readonly [number, number],
  end: (failure?: Error) => void,
): Socket {
  const told = tellsChild ? "told" : "";
  const words = ["-c", wrapper, "windlass-run", directory, told, group, command, ...args];
  const child = spawn("/bin/sh", words, {
    cwd,
    env: { ...env },
    detached: true,
    stdio: ["ignore", stdout, stderr, "pipe"],
  });
  child.once("exit", () => end());
  child.once("error", end);
  // A waiting job keeps the agent alive by itself; after a third signal the agent must be able to
  // exit without terraform.
  child.unref();
  const word = child.stdio[3] as Socket;
  // A wrapper that has ended cannot be written to; its end is noticed elsewhere.
  word.on("error", end);
  return word;
}
