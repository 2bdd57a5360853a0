/** The last step into a job: restores the names of its environment variables. */
import type { RunCommand } from "../terraform/spawn.ts";

/**
 * Fixed text, run as the job's user. The programs before it run with the agent's rights and may
 * obey variables (GCONV_PATH, DOCKER_HOST): they see the job's under names without meaning.
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

/** Packs the environment under such names: every user of the machine can read arguments. */
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
