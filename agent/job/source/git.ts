/** Git as a source: one commit, over https or ssh, with nothing of it run on this machine. */
import { StepFailed } from "../context.ts";
import { fetchWithin } from "./fetch-limit.ts";
import { fetchLfs } from "./git-lfs.ts";
import { gitIn, type GitPlace, type GitSettings } from "./git-run.ts";
import { submodulesOf } from "./git-submodules.ts";
import type { SourceRevision } from "../plan/manifest.ts";
import type { Workspace } from "../workspace.ts";

export interface GitWish {
  readonly url: string;
  /** A branch, a tag or a commit; absent: the default branch. */
  readonly ref?: string | undefined;
  readonly submodules?: boolean | undefined;
}

/** Fetches exactly one commit into the source folder and says which. `protocols` is there for tests. */
export async function fetchGit(
  wish: GitWish,
  workspace: Workspace,
  settings: GitSettings,
  signal: AbortSignal,
  protocols = "https:ssh",
): Promise<SourceRevision> {
  const { url, ref } = wish;
  checkAddress(url, "the repository", protocols);
  if (ref !== undefined && !isSafeRef(ref)) {
    throw new StepFailed(`source: "${ref}" cannot be the name of a git ref`);
  }
  return fetchCommit(wish, workspace, settings, signal, protocols);
}

function checkAddress(url: string, what: string, protocols: string): void {
  if (!isSafeUrl(url, protocols.split(":"))) {
    throw new StepFailed(
      `source: only https and ssh addresses of git repositories are fetched, and the one of ${what} is another; http needs WINDLASS_ALLOW_HTTP=1 at the agent`,
    );
  }
  if (hasPassword(url)) {
    throw new StepFailed(
      `source: the address of ${what} holds a password, which everybody sees who sees the configuration: ` +
        "take it out and give the agent's WINDLASS_GIT_CREDENTIALS a token for that host",
    );
  }
}

/** The fetching, which would run nothing of an address or a ref either if it had not been judged before. */
export async function fetchCommit(
  { url, ref = "HEAD", submodules = false }: GitWish,
  workspace: Workspace,
  settings: GitSettings,
  signal: AbortSignal,
  protocols = "https:ssh",
): Promise<SourceRevision> {
  const { source: folder } = workspace;
  const limit = {
    what: "source",
    folder,
    bytes: settings.sourceBytes,
    path: settings.path,
  } as const;
  const commit = await fetchWithin(limit, async (tooLarge) => {
    const either = AbortSignal.any([signal, tooLarge]);
    const place = { workspace, settings, signal: either, protocols };
    const fetched = await fetchInto(folder, url, ref, place);
    if (submodules) await fetchSubmodules(folder, url, place);
    return fetched;
  });
  return { type: "git", digest: commit };
}

async function fetchInto(
  folder: string,
  url: string,
  ref: string,
  place: GitPlace,
): Promise<string> {
  const git = await gitIn(folder, url, place);
  // Without the machine's templates, which may bring hooks.
  await git("init", "--quiet", "--template=");
  const fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"];
  await git(...fetch, "--", url, ref);
  await git("checkout", "--quiet", "--detach", "--no-recurse-submodules", "FETCH_HEAD");
  const commit = await git("rev-parse", "HEAD");
  if (/^[0-9a-f]{40,64}$/.test(ref) && commit !== ref) {
    throw new StepFailed(`source: git gave commit ${commit} for ${ref}`);
  }
  await fetchLfs(folder, url, place);
  return commit;
}

/** Repositories within repositories, and all of them together. */
const depthLimit = 5;
const countLimit = 100;

/** Each submodule is fetched like the repository itself: the commit that is recorded, by the same rules, with its own token. */
async function fetchSubmodules(folder: string, url: string, place: GitPlace): Promise<void> {
  const todo = [{ folder, url, depth: 0 }];
  let count = 0;
  for (let next = todo.shift(); next; next = todo.shift()) {
    for (const found of await submodulesOf(next.folder, next.url, place)) {
      if (++count > countLimit || next.depth >= depthLimit) {
        throw new StepFailed(
          `source: the repository has more than ${countLimit} submodules, or submodules nested more than ${depthLimit} deep`,
        );
      }
      checkAddress(found.url, `the submodule ${found.name}`, place.protocols);
      await fetchInto(found.folder, found.url, found.commit, place);
      todo.push({ folder: found.folder, url: found.url, depth: next.depth + 1 });
    }
  }
}

/** An address that names its protocol, or `user@host:path`. A leading dash or `ext::` would be an instruction to git. */
export function isSafeUrl(url: string, protocols: readonly string[]): boolean {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\u0000-\u0020\u007f]/.test(url) || url.startsWith("-")) return false;
  if (/^[A-Za-z0-9._-]+@[A-Za-z0-9][A-Za-z0-9.-]*:(?!\/\/)[^:]+$/.test(url)) {
    return protocols.includes("ssh");
  }
  const [, protocol = "", authority = ""] = /^([a-z+]+):\/\/([^/]*)\/./.exec(url) ?? [];
  if (authority === "" && protocol !== "file") return false;
  return protocols.includes(protocol) && !authority.startsWith("-") && !authority.includes("@-");
}

const hasPassword = (url: string): boolean => /^[a-z]+:\/\/[^/]*:[^/]*@/.test(url);

/** As `git check-ref-format` has it, and nothing that could be read as an option or a refspec. */
export const isSafeRef = (ref: string): boolean =>
  /^[A-Za-z0-9_][A-Za-z0-9_./@+#=-]*$/.test(ref) &&
  !/\.\.|\/\/|@\{|\/\.|\.lock(\/|$)|[./]$/.test(ref) &&
  ref.length <= 255;
