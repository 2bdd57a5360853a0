/** Offers to follow the branch of the repository in which a directory is. */
import { resolve } from "node:path";
import { shellWord } from "../../common/shell-word.ts";
import type { Configuration } from "../../protocol/configurations.ts";
import { teamWords } from "../api/team.ts";
import { pathIn, rootOf } from "../configurations/root.ts";
import { listAll, repositoriesOf } from "../connections/verbs.ts";
import { askLine, isYes } from "../terminal/ask.ts";
import { CliError, say } from "../terminal/output.ts";
import type { Run } from "../run.ts";

/** After its first deployment, on a terminal. `origin`: its git remote and path. */
export async function offerFollow(
  run: Run,
  directory: string,
  { id, name }: Configuration,
  [origin = ""]: readonly string[],
): Promise<void> {
  try {
    const found = await reached(run, origin);
    const path = pathOfRoot(directory, decodeURI(origin.split("//")[1] ?? ""));
    if (!found || path === undefined) return;
    const { connection, repository, branch } = found;
    const { full_name, clone_url: url } = repository;
    const answer = await askLine(
      `\nThe connection "${connection.name}" reaches ${full_name}. Plan its pull requests and pushes to ${branch} from now on? "${name}" then changes by commits, no longer by windlass up. [y/N] `,
    );
    if (!isYes(answer)) {
      const words = [
        name,
        "--connection",
        connection.name,
        "--git",
        url,
        ...(path === "" ? [] : ["--path", path]),
      ];
      say(
        `To do it later: windlass configurations follow ${words.map(shellWord).join(" ")}${teamWords(run.api.team)}`,
      );
      return;
    }
    const source = { type: "git" as const, url, ...(path === "" ? {} : { path }) };
    await run.api.call("updateConfiguration", {
      params: { name: id },
      body: { source, follow: { connection_id: connection.id } },
    });
    say(
      `It follows ${branch} of ${full_name}. To see it: windlass configurations show ${shellWord(name)}${teamWords(run.api.team)}`,
    );
  } catch (error) {
    // It is deployed, whatever the host says.
    if (!(error instanceof CliError)) throw error;
    say(`No branch is followed: ${error.message}`);
  }
}

/** The repository of this remote, if a connection reaches it. */
async function reached({ api }: Run, origin: string) {
  const [, hostname = "", name = ""] = /^([^/:]+)(?::\d+)?\/(.+?)(?:\/\/|$)/.exec(origin) ?? [];
  for (const connection of await listAll(api)) {
    const base = new URL(connection.base_url);
    const prefix = base.pathname.replace(/^\//, "").replace(/([^/])$/, "$1/");
    const full = (
      prefix !== "" && name.startsWith(prefix) ? name.slice(prefix.length) : name
    ).toLowerCase();
    if (base.hostname !== hostname) continue;
    const repository = (await repositoriesOf(api, connection)).find(
      ({ full_name }) => full_name.toLowerCase() === full,
    );
    const branch = repository?.default_branch;
    if (repository && branch) return { connection, repository, branch };
  }
  return undefined;
}

/** Where in the repository what was uploaded is; undefined if it is not in it. */
function pathOfRoot(directory: string, path: string): string | undefined {
  const inner = pathIn(resolve(rootOf(directory)), directory);
  if (inner === "" || inner === path) return inner === "" ? path : "";
  return path.endsWith(`/${inner}`) ? path.slice(0, -inner.length - 1) : undefined;
}
