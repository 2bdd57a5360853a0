/** The branch of a code host that a configuration follows. */
import type { Configuration } from "../../protocol/configurations.ts";
import type { Follow, WriteFollow } from "../../protocol/follow.ts";
import { shellWord } from "../../common/shell-word.ts";
import { teamWords } from "../api/team.ts";
import { connectionOf, listAll } from "../connections/verbs.ts";
import { CliError, say } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { changesOf } from "./changes.ts";
import { inSpaceOf } from "./find.ts";
import { showConfiguration } from "./show.ts";

export interface FollowOptions extends Pick<
  WriteFollow,
  "branch" | "push" | "comment" | "forks" | "values" | "commands"
> {
  readonly connection?: string | undefined;
  readonly git?: string | undefined;
  readonly path?: string | undefined;
  readonly triggerPath?: string[] | undefined;
  readonly pullRequests?: Follow["pull_requests"] | undefined;
  readonly end?: true | undefined;
}

/** `configurations follow`: the options replace parts of what is followed. */
export async function follow(current: Run, name: string, options: FollowOptions): Promise<void> {
  const { end, ...given } = options;
  const isGiven = Object.keys(given).length > 0;
  if (end && isGiven) throw new CliError("--end ends it. Pass no other option with it.", 2);
  const { run, configuration: before } = await inSpaceOf(current, name);
  if (!end && !isGiven && before.follow)
    throw new CliError("Nothing to change. For help: windlass configurations follow --help", 2);
  const body = end
    ? { follow: null }
    : {
        ...(await changesOf(run, sourceOptions(given), before)),
        follow: await followOf(run, given, before),
      };
  const changed = await run.api.call("updateConfiguration", { params: { name: before.id }, body });
  await showConfiguration(run, changed);
  for (const warning of changed.follow?.warnings ?? []) say(`Warning: ${warning}`);
  if (end) run.done("It follows no branch. Its source stays.");
  else if (!before.follow)
    run.done(
      `It follows ${changed.follow?.branch}. The first look starts jobs for open pull requests only. To see them: windlass pull-requests list${teamWords(run.api.team)}`,
    );
}

const sourceOptions = ({ git, path }: FollowOptions) => ({ git, path });

/** The request replaces what is followed, so it has all of it. */
async function followOf(
  run: Run,
  options: Omit<FollowOptions, "end">,
  { name, follow: before }: Configuration,
): Promise<WriteFollow> {
  const { connection, git: _git, path: _path, triggerPath, pullRequests, ...others } = options;
  const {
    repository: _r,
    seen_commit: _s,
    warnings: _w,
    branch,
    connection_id,
    ...kept
  } = before ?? {};
  const id =
    connection === undefined
      ? (connection_id ?? (await only(run, name)))
      : (await connectionOf(run, connection)).id;
  return {
    ...kept,
    // Through another connection, the host's default branch.
    ...(branch === undefined || id !== connection_id ? {} : { branch }),
    ...others,
    ...(triggerPath ? { trigger_paths: triggerPath.filter(Boolean) } : {}),
    ...(pullRequests ? { pull_requests: pullRequests } : {}),
    connection_id: id,
  };
}

async function only(run: Run, name: string): Promise<string> {
  const [found, ...others] = await listAll(run.api);
  if (found && others.length === 0) return found.id;
  const team = teamWords(run.api.team);
  throw new CliError(
    found
      ? `You have several connections. Pass one: windlass configurations follow ${shellWord(name)} --connection ${shellWord(found.name)}${team}`
      : `There is no connection yet. To make one: windlass connections create --help${team}`,
    2,
  );
}
