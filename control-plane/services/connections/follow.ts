/** Asks the host about the branch that a configuration is to follow. */
import type { Source } from "../../../protocol/configurations.ts";
import type { WriteFollow } from "../../../protocol/follow.ts";
import { HostError } from "../../code-hosts/host-calls.ts";
import { followSettings, isPrivileged, repositoryIn } from "../../domain/follow.ts";
import { invalid } from "../../domain/refusal.ts";
import { checkPermission } from "../../domain/roles.ts";
import type { FollowRow } from "../../store/connections/follows.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { checkUse, type Use } from "../teams/zone-roles.ts";
import { checkStatusName, findRow } from "./connections.ts";
import { ask, refusing, registerWebhook, webhookHelp } from "./hosts.ts";

/** What is to be stored, without the configuration; and the address that was looked up. */
export type Followed = Pick<
  FollowRow,
  "connection_id" | "repository_id" | "repository" | "branch" | "settings"
> & { readonly url: string };

/**
 * Finds the repository and the branch, and registers the webhook if the host lets us. Throws
 * `host_unavailable` if the host cannot be asked. `before`: what the configuration follows now.
 */
export async function findFollowed(
  context: Context,
  user: UserCaller,
  follow: WriteFollow,
  source: Source,
  use: Use,
  before?: FollowRow,
): Promise<Followed> {
  if (isPrivileged(follow)) checkPermission(user, "administer");
  if (source.type !== "git") throw invalid("body.follow", "needs a source of type git");
  const row = await findRow(context.store.read, user, follow.connection_id);
  if (before?.connection_id !== row.id)
    await checkUse(context.store.read, user, { connection: row.id }, use);
  const { url } = source;
  const full_name = repositoryIn(url, row.base_url);
  if (full_name === undefined)
    throw invalid("body.follow", `needs a source at ${row.base_url}, and it is at ${url}`);
  const found = await refusing(
    ask(context, row, async ({ host }) => {
      const repository = await host.repository({ full_name });
      const branch = follow.branch ?? repository.default_branch;
      const commit = branch === null ? null : await host.head(repository, branch);
      return { repository, branch, commit };
    }),
  );
  const { repository, branch, commit } = found;
  if (repository.full_name.toLowerCase() !== full_name.toLowerCase())
    throw invalid("body.follow", `needs the repository's own name: ${repository.full_name}`);
  if (branch === null || commit === null)
    throw invalid(
      "body.follow.branch",
      `must name a branch of ${repository.full_name}${branch === null ? "" : `, which has no ${branch}`}`,
    );
  await checkStatusName(context, row, repository.id);
  const isKnown =
    before?.connection_id === row.id &&
    before.repository_id === repository.id &&
    before.settings.includes('"webhook_problem":null');
  const problem = isKnown ? null : await webhookProblem(context, row, repository);
  return {
    connection_id: row.id,
    repository_id: repository.id,
    repository: repository.full_name,
    branch,
    settings: JSON.stringify(followSettings(follow, problem)),
    url,
  };
}

/** Registers the webhook. Without one the poller sees changes, only later. */
async function webhookProblem(
  context: Context,
  row: Parameters<typeof registerWebhook>[1],
  repository: Parameters<typeof registerWebhook>[2],
): Promise<string | null> {
  try {
    await registerWebhook(context, row, repository);
    return null;
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    return `the host sends no events, so that changes are seen every ${row.poll_seconds} s only: ${error.message}. ${webhookHelp(context, row, repository.full_name)}`;
  }
}
