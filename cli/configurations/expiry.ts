/** What people are told of the end of a configuration (`expires_at`). */
import { shellWord } from "../../common/shell-word.ts";
import type { Configuration } from "../../protocol/configurations.ts";
import { endsSoon } from "../../protocol/words.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { timeAndDistance } from "../terminal/times.ts";

export const expiryText = (at: string): string =>
  `${timeAndDistance(at)}${Date.parse(at) > Date.now() ? "" : ": it has passed"}`;

/** Warns on stderr of those whose resources will be destroyed within a day. */
export function warnOfEnd(run: Run, configurations: readonly Configuration[]): void {
  for (const it of configurations.filter((one) => endsSoon(one, Date.now())))
    run.done(
      `What "${it.name}" has deployed will be destroyed ${timeAndDistance(it.expires_at!)}. To keep it: windlass configurations update ${shellWord(it.name)} --expires-at none${teamWords(run.api.team)}`,
    );
}
