/** A digest of the files that a plan was made of, to tell whether two plans had the same. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { readIfExists } from "../../../common/files.ts";
import { mebibyte } from "../../../common/units.ts";
import { writeWhole } from "../../machine/files.ts";
import type { JobContext } from "../context.ts";
import { checked, gitRunIn, type GitPlace } from "./git-run.ts";

/** Of the list of all directories. A repository with more has no digest. */
const listLimit = 16 * mebibyte;

const fileIn = (directory: string): string => join(directory, "trees");

/**
 * Writes the ids of all directories and submodules into the job's directory, before anything of the
 * job runs: later, the repository's settings may name programs.
 */
export async function recordTrees(directory: string, url: string, place: GitPlace): Promise<void> {
  const run = await gitRunIn(place.workspace.source, url, place, listLimit);
  const root = await checked(run)("rev-parse", "HEAD^{tree}");
  const list = await run("ls-tree", "-r", "-d", "-z", "--full-tree", "HEAD");
  if (list.isCut) return;
  if (list.code !== 0) throw list.failure();
  writeWhole(fileIn(directory), `040000 tree ${root}\t.\0${list.stdout}`);
}

/**
 * Returns the digest of the lock file and of these directories of the source; undefined if one is
 * unknown, such as one behind a link. A source without git counts as a whole.
 */
export function sourceDigest(
  { directory, facts }: JobContext,
  lock: string,
  directories: readonly string[],
): string | undefined {
  const locked = existsSync(lock) ? hashOf(readFileSync(lock)) : null;
  if (facts.source?.type !== "git") return hashOf(JSON.stringify([locked, facts.source?.digest]));
  const text = readIfExists(fileIn(directory));
  if (text === undefined) return undefined;
  const trees = new Map<string, string>();
  for (const line of text.split("\0")) {
    const [entry = "", path = ""] = line.split("\t", 2);
    trees.set(path, entry);
  }
  const parts = [...new Set(directories)].toSorted().map((path) => [path, entryOf(trees, path)]);
  return parts.some(([, entry]) => entry === undefined)
    ? undefined
    : hashOf(JSON.stringify([locked, parts]));
}

/** That of a submodule stands for all directories in it. */
function entryOf(trees: ReadonlyMap<string, string>, path: string): string | undefined {
  for (let at = path; ; at = posix.dirname(at)) {
    const entry = trees.get(at);
    if (entry !== undefined) return at === path || entry.startsWith("160000 ") ? entry : undefined;
    if (at === ".") return undefined;
  }
}

const hashOf = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");
