/** The last step into a job: there its environment gets its names. */
import type { RunCommand } from "../terraform/spawn.ts";

/**
 * Fixed text, run as the job's user. A job's environment may name what a program loads or connects to (GCONV_PATH, DOCKER_HOST),
 * so the programs that lead into the job, which run with the agent's rights, see it under names that mean nothing.
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

/** The command with its environment packed for the way: nothing of it in arguments, where everybody on the machine could read it. */
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
