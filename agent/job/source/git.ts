/** Fetches one commit of a git repository, over https or ssh, and runs nothing of it. */
import { chownSync } from "node:fs";
import { gitRefProblem } from "../../../common/git-ref.ts";
import { StepFailedError } from "../context.ts";
import { FetchTooLargeError, fetchWithin } from "./fetch-limit.ts";
import { fetchLfs } from "./git-lfs.ts";
import { fetchMerge } from "./git-merge.ts";
import { gitIn, gitRunIn, type GitPlace, type GitSettings } from "./git-run.ts";
import { submodulesOf } from "./git-submodules.ts";
import { recordTrees } from "./source-digest.ts";
import type { SourceRevision } from "../plan/manifest.ts";
import type { MergedCommits, SourceMerge } from "../../../protocol/source-merge.ts";
import { emptyFolder, type Workspace } from "../workspace.ts";

export interface GitWish {
  readonly url: string;
  /** A branch, a tag or a commit; absent: the default branch. */
  readonly ref?: string | undefined;
  readonly submodules?: boolean | undefined;
  /** `ref` is a commit, to be merged. */
  readonly merge?: SourceMerge | undefined;
  /** Where to write the ids of the directories, for the digest of the source. */
  readonly treesFolder?: string | undefined;
}

export interface FetchedGit extends SourceRevision {
  /** What was merged into what; `digest` is the head. */
  readonly merged?: MergedCommits;
}

/** Fetches exactly one commit, or merges two, and returns it. `protocols` is there for tests. */
export async function fetchGit(
  wish: GitWish,
  workspace: Workspace,
  settings: GitSettings,
  signal: AbortSignal,
  protocols = "https:ssh",
): Promise<FetchedGit> {
  const { url, ref } = wish;
  checkAddress(url, "the repository", protocols);
  const problem = ref === undefined ? undefined : gitRefProblem(ref);
  if (problem !== undefined) throw new StepFailedError(`source: the ref "${ref}" ${problem}`);
  return fetchCommit(wish, workspace, settings, signal, protocols);
}

function checkAddress(url: string, what: string, protocols: string): void {
  if (!isSafeUrl(url, protocols.split(":"))) {
    throw new StepFailedError(
      `source: the address of ${what} must begin with https:// or ssh://; http:// needs WINDLASS_ALLOW_HTTP=1 on the runner`,
    );
  }
  if (/^[a-z]+:\/\/[^/]*:[^/]*@/.test(url)) {
    throw new StepFailedError(
      `source: the address of ${what} contains a password, which every user sees who can see the configuration: ` +
        "remove it, and add a token for that host to WINDLASS_GIT_CREDENTIALS of the runner",
    );
  }
}

/** Fetches. Even without the checks above, git would run nothing that an address or a ref names. */
export async function fetchCommit(
  { url, ref = "HEAD", submodules = false, merge, treesFolder }: GitWish,
  workspace: Workspace,
  settings: GitSettings,
  signal: AbortSignal,
  protocols = "https:ssh",
): Promise<FetchedGit> {
  const { source: folder } = workspace;
  const limit = {
    what: "source",
    folder,
    bytes: settings.sourceBytes,
    path: settings.path,
  } as const;
  const fetch = (merging?: SourceMerge): Promise<FetchedGit> =>
    fetchWithin(limit, async (tooLarge) => {
      const either = AbortSignal.any([signal, tooLarge]);
      const asJob = isHttp(url);
      const found = { files: 0 };
      const place = { workspace, settings, signal: either, protocols, asJob, found };
      if (asJob) settings.isolation?.give(folder, workspace.home, workspace.temporary);
      const merged = merging && (await mergeInto(folder, url, ref, merging, place));
      const commit = merged?.head_commit ?? (await fetchInto(folder, url, ref, place));
      if (submodules) await fetchSubmodules(folder, url, place);
      if (treesFolder !== undefined) await recordTrees(treesFolder, url, place);
      return { type: "git", digest: commit, ...(merged && { merged }) };
    });
  try {
    return await fetch(merge);
  } catch (error) {
    const base_commit = merge?.base_commit;
    if (!(error instanceof FetchTooLargeError) || !base_commit) throw error;
    // The history may be what is too large.
    emptyFolder(folder);
    const merged = { base_commit, head_commit: ref, is_head_only: true };
    return { ...(await fetch()), merged };
  }
}

async function mergeInto(
  folder: string,
  url: string,
  head: string,
  merge: SourceMerge,
  place: GitPlace,
): Promise<MergedCommits> {
  const git = await gitIn(folder, url, place);
  await git("init", "--quiet", "--template=");
  const { commit, merged } = await fetchMerge(folder, url, head, merge, place);
  await checkFiles(commit, folder, url, place);
  await git("checkout", "--quiet", "--detach", "--no-recurse-submodules", commit);
  await fetchLfs(folder, url, place);
  return merged;
}

async function fetchInto(
  folder: string,
  url: string,
  ref: string,
  place: GitPlace,
): Promise<string> {
  const git = await gitIn(folder, url, place);
  // Without the machine's templates, which may contain hooks.
  await git("init", "--quiet", "--template=");
  const fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"];
  await git(...fetch, "--", url, ref);
  await checkFiles("FETCH_HEAD", folder, url, place);
  await git("checkout", "--quiet", "--detach", "--no-recurse-submodules", "FETCH_HEAD");
  const commit = await git("rev-parse", "HEAD");
  if (/^[0-9a-f]{40,64}$/.test(ref) && commit !== ref) {
    throw new StepFailedError(`source: git fetched commit ${commit} for ${ref}`);
  }
  await fetchLfs(folder, url, place);
  return commit;
}

/** Keys and known hosts of ssh are those of the agent's user. */
const isHttp = (url: string): boolean => /^https?:/.test(url);

/** Of a repository and its submodules: a checkout takes 300 bytes of memory for each, and a few objects may name any number. */
const filesLimit = 1_000_000;

/** Before the checkout. */
async function checkFiles(
  commit: string,
  folder: string,
  url: string,
  place: GitPlace,
): Promise<void> {
  const { found } = place;
  const tooMany = `source: the repository has more than ${filesLimit} files`;
  const run = await gitRunIn(folder, url, place, undefined, (part) => {
    for (let at = part.indexOf(0); at >= 0; at = part.indexOf(0, at + 1)) found.files++;
    if (found.files > filesLimit) throw new Error(tooMany);
  });
  const end = await run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit);
  if (found.files > filesLimit) throw new StepFailedError(tooMany);
  if (end.code !== 0) throw end.failure();
}

/** The limits of submodules: how deep they are nested, and how many there are in total. */
const depthLimit = 5;
const countLimit = 100;

/** Like the repository itself: the recorded commit, the same rules, a token of its own. */
async function fetchSubmodules(folder: string, url: string, place: GitPlace): Promise<void> {
  const todo = [{ folder, url, depth: 0, place }];
  let count = 0;
  for (let next = todo.shift(); next; next = todo.shift()) {
    for (const found of await submodulesOf(next.folder, next.url, next.place)) {
      if (++count > countLimit || next.depth >= depthLimit) {
        throw new StepFailedError(
          `source: the repository has more than ${countLimit} submodules, or submodules nested more than ${depthLimit} deep`,
        );
      }
      checkAddress(found.url, `the submodule ${found.name}`, place.protocols);
      const asJob = next.place.asJob && isHttp(found.url);
      // Git refuses to work in a directory of another user.
      if (!asJob) chownSync(found.folder, process.getuid?.() ?? -1, process.getgid?.() ?? -1);
      const within = { ...place, asJob };
      await fetchInto(found.folder, found.url, found.commit, within);
      todo.push({ folder: found.folder, url: found.url, depth: next.depth + 1, place: within });
    }
  }
}

/** `protocol:` or `user@host:path`. Git would take a leading dash or `ext::` for an instruction. */
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
