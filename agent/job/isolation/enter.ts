/** The last step into a job: restores the names of its environment variables. */
import type { RunCommand } from "../terraform/spawn.ts";

/**
 * Run as the job's user. The programs before it run with the agent's rights and may obey variables
 * (GCONV_PATH, DOCKER_HOST): they see the job's under names without meaning. The text depends only
 * on their number and has no variables of its own, which those of the job would replace. Without
 * `command`, a shell ends at one that it refuses, such as `OPTIND` (dash) or `UID` (bash).
 */
const script = (count: number): string =>
  Array.from(
    { length: count },
    (_, n) => `command export "$WINDLASS_ENTRY_${n}" 2>/dev/null\nunset WINDLASS_ENTRY_${n}\n`,
  ).join("") + 'exec "$@"\n';

/** Packs the environment under such names: every user of the machine can read arguments. */
export function enter(command: RunCommand, ...more: string[]): RunCommand {
  const { env, command: program, args } = command;
  const entries = [...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...more];
  return {
    ...command,
    command: "/bin/sh",
    args: ["-c", script(entries.length), "windlass-enter", program, ...args],
    env: {
      ...(env["PATH"] === undefined ? {} : { PATH: env["PATH"] }),
      ...Object.fromEntries(entries.map((entry, n) => [`WINDLASS_ENTRY_${n}`, entry])),
    },
  };
}
