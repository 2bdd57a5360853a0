/** The last step into a job: restores the names of its environment variables. */
import type { RunCommand } from "../terraform/spawn.ts";

/**
 * Fixed text, run as the job's user. A job's environment may name what a program loads or connects
 * to (GCONV_PATH, DOCKER_HOST). The programs that lead into the job run with the agent's rights, so
 * they see the job's variables under names that have no meaning to them.
 */
const script = `
n=0
while eval "entry=\\\${WINDLASS_ENTRY_$n-}"; [ -n "$entry" ]; do
  export "$entry"
  unset "WINDLASS_ENTRY_$n"
  n=$((n + 1))
done
unset n entry
exec "$@"
`;

/**
 * Returns the command with its environment packed under such names. No value is in the arguments,
 * which every user of the machine can read.
 */
export function enter(command: RunCommand, ...more: string[]): RunCommand {
  const { env, command: program, args } = command;
  const entries = [...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...more];
  return {
    ...command,
    command: "/bin/sh",
    args: ["-c", script, "windlass-enter", program, ...args],
    env: {
      ...(env["PATH"] === undefined ? {} : { PATH: env["PATH"] }),
      ...Object.fromEntries(entries.map((entry, n) => [`WINDLASS_ENTRY_${n}`, entry])),
    },
  };
}
