/** Describes the branch that a configuration follows. */
import type { Configuration } from "../../protocol/configurations.ts";
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
  const [connection, { pull_requests: open }] = await Promise.all([
    api.call("getConnection", { params: { id: followed.connection_id } }),
    api.call("listPullRequests", { query: { configuration: id, state: "open", limit: shown } }),
  ]);
  const { branch, repository, push, pull_requests, comment, forks, values, commands } = followed;
  return {
    follows: `${branch} of ${repository} (connection "${connection.name}")`,
    "connection error": connection.error?.message ?? null,
    "last seen commit": followed.seen_commit ?? "not looked yet",
    "on a push": push,
    "on a pull request": `${pull_requests}; comment: ${comment}; forks: ${forks}; values: ${values}; commands: ${commands ? "on" : "off"}`,
    "trigger paths": followed.trigger_paths.join("\n"),
    "pull requests": open
      .map((one) => `#${one.number} ${one.title} (${one.author}): ${planText(one)}`)
      .join("\n"),
  };
}
