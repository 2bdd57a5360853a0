/** The command that makes a plan like an earlier one, which cannot be deployed any more. */
import type { Job } from "../../protocol/jobs.ts";
import { destroysAll } from "../../protocol/words.ts";
import { withRemedy } from "../api/failures.ts";
import { shellWord } from "../../common/shell-word.ts";

/** Only `windlass up` plans the files of a directory: the configuration has others. */
export function planAgainCommand(
  { plan_options: options, own_source }: Pick<Job, "plan_options" | "own_source">,
  name: string,
): string {
  if (own_source && !options) return "windlass up";
  if (destroysAll(options)) return `windlass jobs destroy ${shellWord(name)}`;
  const { destroy, refresh_only, targets = [], replace = [], exclude = [] } = options ?? {};
  return [
    `windlass jobs plan ${shellWord(name)}`,
    ...(destroy ? ["--destroy"] : []),
    ...(refresh_only ? ["--refresh-only"] : []),
    ...targets.map((address) => `--target ${shellWord(address)}`),
    ...replace.map((address) => `--replace ${shellWord(address)}`),
    ...exclude.map((address) => `--exclude ${shellWord(address)}`),
  ].join(" ");
}

/** Adds the command to the refusal of a plan that was deployed before, is out of date or removed. */
export function withPlanAgain(error: unknown, command: string): unknown {
  const remedy = `Run: ${command}`;
  return withRemedy(error, {
    plan_is_stale: remedy,
    plan_already_used: remedy,
    invalid_plan: remedy,
  });
}
