/** What pull requests would change. */
import type { PullRequest } from "../../protocol/pull-requests.ts";
import { changesText } from "../../protocol/words.ts";

/** Such as `network: SUCCESS +3 ~1`, or why there is no plan. */
export function planText({ jobs, skipped, needs_approval }: PullRequest): string {
  if (needs_approval) return "needs approval to be planned";
  if (skipped !== null) return skipped;
  if (jobs.length === 0) return "no plan";
  return jobs
    .map(({ configuration, status, changes }) =>
      [`${configuration}:`, status, changes && changesText(changes)].filter(Boolean).join(" "),
    )
    .join("; ");
}
