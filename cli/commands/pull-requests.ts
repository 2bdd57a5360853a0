/** `windlass pull-requests`: pull requests onto followed branches, with their plans. */
import type { PullRequest, PullRequestState } from "../../protocol/pull-requests.ts";
import { examples, limit, noun, oneOf } from "../noun.ts";
import { action, type Run } from "../run.ts";

const states = ["open", "merged", "closed", "all"] as const;

interface ListOptions {
  readonly configuration?: string | undefined;
  readonly repository?: string | undefined;
  readonly state: PullRequestState | "all";
  readonly limit: string;
}

export function pullRequestsCommand() {
  const pulls = noun("pull-requests", "pull requests onto followed branches, with their plans");
  const list = pulls
    .command("list")
    .description("list pull requests, newest first, with the newest plan of each configuration")
    .option("--configuration <name>", "only those that touch this one: its name or id")
    .option("--repository <name>", "only those of this repository, such as platform/network")
    .addOption(oneOf("--state <state>", "only those in this state", states).default("open"))
    .addOption(limit("the number of pull requests to list"))
    .action(action(listPulls));
  examples(list, [
    ["windlass pull-requests list --configuration network", "the open ones with their plans"],
    ["windlass pull-requests list --state all --json", "for scripts"],
  ]);
  const approve = pulls
    .command("approve")
    .description("let a commit of a fork be planned: its plan runs its author's code")
    .argument("<id>", "id of the pull request, or such as platform/network#12")
    .requiredOption("--commit <sha>", "the commit that you have read, or its first 7 digits")
    .action(action(approvePull));
  examples(approve, [
    ["windlass pull-requests approve platform/network#12 --commit 9fceb02d", "after reading it"],
  ]);
  return examples(pulls, [["windlass pull-requests list", "the open ones with their plans"]]);
}

async function listPulls(run: Run, options: ListOptions): Promise<void> {
  const { parseCount } = await import("../api/pages.ts");
  const { items, more } = await readPulls(run, options, parseCount("--limit", options.limit));
  const { planText } = await import("../jobs/pull-requests.ts");
  run.list(
    items,
    {
      REQUEST: nameOf,
      TITLE: ({ title }) => title,
      AUTHOR: ({ author, is_fork }) => (is_fork ? `${author} (fork)` : author),
      STATE: ({ state }) => state,
      COMMIT: ({ head }) => head.commit?.slice(0, 8),
      PLANS: planText,
      ID: ({ id }) => id,
    },
    options.state === "open"
      ? "There are no open pull requests onto followed branches."
      : "There are no such pull requests.",
    { whole: ["REQUEST", "COMMIT"], spare: ["AUTHOR", "STATE"] },
  );
  if (more) run.cut("pull requests");
}

async function readPulls(
  { api }: Run,
  { configuration, repository, state }: Omit<ListOptions, "limit">,
  wanted: number,
) {
  const { readPages } = await import("../api/pages.ts");
  const query = {
    ...(configuration === undefined ? {} : { configuration }),
    ...(repository === undefined ? {} : { repository }),
    ...(state === "all" ? {} : { state }),
  };
  return readPages(wanted, async (page) => {
    const found = await api.call("listPullRequests", { query: { ...query, ...page } });
    return { items: found.pull_requests, next_cursor: found.next_cursor };
  });
}

/** How many open pull requests are searched for one that is named. */
const searched = 1000;

async function approvePull(
  run: Run,
  named: string,
  { commit: typed }: { readonly commit: string },
): Promise<void> {
  const { find } = await import("../api/find.ts");
  const { CliError } = await import("../terminal/output.ts");
  if (!/^[0-9a-f]{7,64}$/i.test(typed))
    throw new CliError("--commit must be a commit, or at least its first 7 digits.", 2);
  const { items } = await readPulls(run, { state: "open" }, searched);
  const all = items.map((one) => ({ ...one, name: nameOf(one) }));
  const { id, name, head } = find(run.api, "open pull request", "pull-requests", all, named);
  // The server refuses a commit that is not the newest, and names that one.
  const given = typed.toLowerCase();
  const commit = head.commit?.startsWith(given) ? head.commit : given.padEnd(40, "0");
  await run.api.call("approvePullRequest", { params: { id }, body: { commit } });
  run.done(`The commit ${commit.slice(0, 8)} of ${name} will be planned.`);
}

const nameOf = ({ repository, number }: PullRequest): string => `${repository}#${number}`;
