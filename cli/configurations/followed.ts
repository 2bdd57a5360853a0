/** Describes the branch that a configuration follows. */
import type { Configuration } from "../../protocol/configurations.ts";
import { ifReadable } from "../api/failures.ts";
import { planText } from "../jobs/pull-requests.ts";
import type { Run } from "../run.ts";

/** How many open pull requests are shown. */
const shown = 10;

/** As names and values. */
export async function followFields(
  { api }: Run,
  { id, follow: followed }: Configuration,
): Promise<Record<string, string | null>> {
  if (!followed) return {};
  const query = { configuration: id, state: "open", limit: shown } as const;
  const [connection, open] = await Promise.all([
    ifReadable(api.call("getConnection", { params: { id: followed.connection_id } })),
    ifReadable(api.call("listPullRequests", { query })),
  ]);
  const { branch, repository, push, pull_requests, comment, forks, values, commands } = followed;
  return {
    follows: `${branch} of ${repository} (connection "${connection?.name ?? followed.connection_id}")`,
    "connection error": connection?.error?.message ?? null,
    "last seen commit": followed.seen_commit ?? "not looked yet",
    "on a push": push,
    "on a pull request": `${pull_requests}; comment: ${comment}; forks: ${forks}; values: ${values}; commands: ${commands ? "on" : "off"}`,
    "trigger paths": followed.trigger_paths.join("\n"),
    "pull requests": (open?.pull_requests ?? [])
      .map((one) => `#${one.number} ${one.title} (${one.author}): ${planText(one)}`)
      .join("\n"),
  };
}
