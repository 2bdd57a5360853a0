/**
 * Merges the head of a pull request into its base, as its host would. Nothing of the repository
 * runs: the merge has no work tree, so it reads no attributes, and git knows no merge driver.
 */
import { join } from "node:path";
import { readIfExists } from "../../../common/files.ts";
import { gitRefProblem } from "../../../common/git-ref.ts";
import { mebibyte } from "../../../common/units.ts";
import type { MergedCommits, SourceMerge } from "../../../protocol/source-merge.ts";
import { StepFailedError } from "../context.ts";
import { checked, gitRunIn, type GitPlace } from "./git-run.ts";

/** Commits of each history: of the first fetch, and where the search for a common one ends. */
const depths = { first: 32, limit: 4096 };
/** Of the commits since then, 41 bytes each, and of the paths of a conflict. */
const listLimit = 16 * mebibyte;
/** Paths of a conflict in the message. */
const pathsShown = 20;
const pathLimit = 200;

const headRef = "refs/windlass/head";
const baseRef = "refs/windlass/base";

export interface Merge {
  /** What to check out. */
  readonly commit: string;
  readonly merged: MergedCommits;
}

/** Fetches both into an empty repository. Fails the job with `merge_conflict` if they conflict. */
export async function fetchMerge(
  folder: string,
  url: string,
  head: string,
  merge: SourceMerge,
  place: GitPlace,
): Promise<Merge> {
  const run = await gitRunIn(folder, url, place, listLimit);
  const git = checked(run);
  const base = await fetchBoth(folder, url, head, merge, place);
  const merged = { base_commit: base.commit, head_commit: head };
  for (let depth = depths.first; !(await isJoined(base.commit));) {
    const isWhole = (await git("rev-parse", "--is-shallow-repository")) === "false";
    if (isWhole || depth >= depths.limit)
      return { commit: head, merged: { ...merged, is_head_only: true } };
    await base.fetch((depth *= 2));
  }
  if ((await run("merge-base", "--is-ancestor", base.commit, head)).code === 0)
    return { commit: head, merged: { ...merged, is_current: true } };
  const author = ["-c", "user.name=windlass", "-c", "user.email=windlass@localhost"];
  const tree = await mergedTree(base.commit);
  const parents = ["-p", base.commit, "-p", head];
  return { commit: await git(...author, "commit-tree", tree, ...parents, "-m", "Merge"), merged };

  /**
   * Whether the newest common commits are certain: all commits since are there. Of a history that was
   * cut among them, git may find an older one, and a merge would lose what was reverted since.
   */
  async function isJoined(commit: string): Promise<boolean> {
    const end = await run("merge-base", "--all", commit, head);
    if (end.code === 1) return false;
    if (end.code !== 0) throw end.failure();
    const cut = new Set(readIfExists(join(folder, ".git/shallow"))?.split("\n"));
    const since = await run("rev-list", commit, head, "--not", ...end.stdout.trim().split("\n"));
    if (since.code !== 0 && !since.isCut) throw since.failure();
    return !since.isCut && !since.stdout.split("\n").some((one) => one !== "" && cut.has(one));
  }

  async function mergedTree(commit: string): Promise<string> {
    const options = ["--write-tree", "-z", "--name-only", "--no-messages"];
    const limits = ["-c", "merge.renameLimit=1000"];
    const end = await run(...limits, "merge-tree", ...options, commit, head);
    const [result = "", ...paths] = end.stdout.split("\0");
    if (end.code === 0) return result;
    // A list that is too long is cut.
    if (end.code === 1 || end.isCut) throw conflict(merge, paths);
    if (end.code === 129)
      throw new StepFailedError(
        "source: git on the runner is too old to merge pull requests: install git 2.38 or newer",
      );
    throw end.failure();
  }
}

/** By their ids; from a host that does not serve those, by their names. */
async function fetchBoth(
  folder: string,
  url: string,
  head: string,
  { base_branch, base_commit, head_ref }: SourceMerge,
  place: GitPlace,
): Promise<{ commit: string; fetch(depth: number): Promise<unknown> }> {
  for (const name of [base_branch, ...(head_ref === undefined ? [] : [head_ref])]) {
    const problem = gitRefProblem(name);
    if (problem !== undefined) throw new StepFailedError(`source: the ref "${name}" ${problem}`);
  }
  const git = checked(await gitRunIn(folder, url, place));
  const branch = `refs/heads/${base_branch}`;
  const options = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"];
  let [ours, theirs] = [base_commit ?? branch, head];
  const fetch = (depth: number): Promise<string> =>
    git(...options, `--depth=${depth}`, "--", url, `+${theirs}:${headRef}`, `+${ours}:${baseRef}`);
  try {
    await fetch(depths.first);
  } catch (error) {
    if (place.signal.aborted || (ours === branch && head_ref === undefined)) throw error;
    [ours, theirs] = [branch, head_ref ?? head];
    await fetch(depths.first);
  }
  const found = await git("rev-parse", `${headRef}^{commit}`);
  if (found !== head)
    throw new StepFailedError(
      `source: ${theirs} is ${found} and no longer ${head}: plan the new head of the pull request`,
    );
  return { commit: await git("rev-parse", `${baseRef}^{commit}`), fetch };
}

function conflict({ base_branch }: SourceMerge, all: readonly string[]): StepFailedError {
  const paths = all.filter(Boolean);
  const shown = paths.slice(0, pathsShown).map((path) => {
    const plain = path.replaceAll(/\p{Cc}/gu, "?");
    return plain.length > pathLimit ? `${plain.slice(0, pathLimit)}…` : plain;
  });
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "";
  const message = `source: the pull request conflicts with ${base_branch} in ${shown.join(", ")}${more}: merge ${base_branch} into it, or rebase it`;
  return new StepFailedError(message, { failure: { kind: "merge_conflict" } });
}
