/** Limits of the kernel, set on the way into the job, which cannot raise them. */
import type { RunCommand } from "../terraform/spawn.ts";
import type { JobLimits, Place } from "./isolation.ts";

/** Returns the command that runs this one under the limits, with the same process id. */
export function limited(command: RunCommand, { user }: Place, limits: JobLimits): RunCommand {
  const [program = "", ...args] = limitedWords([command.command, ...command.args], user, limits);
  return { ...command, command: program, args };
}

export const limitedWords = (
  words: readonly string[],
  user: number | undefined,
  limits: JobLimits,
): readonly string[] => [
  "prlimit",
  ...(limits.memoryBytes > 0 ? [`--data=${limits.memoryBytes}`] : []),
  ...(limits.fileBytes > 0 ? [`--fsize=${limits.fileBytes}`] : []),
  ...(limits.processes > 0 && user !== undefined ? [`--nproc=${limits.processes}`] : []),
  "--core=0",
  "--",
  ...words,
];

/** Says for people to what the limits apply. */
export const limitsBy = (groups: string | undefined): string =>
  groups === undefined ? "of each process (prlimit)" : "of the whole job (control groups)";

/** Returns the same limits as options of docker and podman. */
export const containerLimits = ({ memoryBytes, processes, fileBytes }: JobLimits): string[] => [
  ...(memoryBytes > 0 ? ["--memory", String(memoryBytes)] : []),
  ...(processes > 0 ? ["--pids-limit", String(processes)] : []),
  ...(fileBytes > 0 ? ["--ulimit", `fsize=${fileBytes}`] : []),
];
