/** Files that a repository keeps in Git LFS: fetched in place of the pointers to them, or the job fails. */
import { closeSync, constants, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { StepFailed } from "../context.ts";
import { mibOf } from "./fetch-limit.ts";
import { gitIn, type GitPlace } from "./git-run.ts";

/** A pointer is smaller than this, by its specification. */
const pointerLimit = 1024;
/** As `.gitattributes` has them. */
const lfsFiles = ":(attr:filter=lfs)";
const version = "version https://git-lfs.github.com/spec/v1";

/** Fetches what the checked-out commit of the repository at `url` keeps in LFS. Costs one run of git where there is none. */
export async function fetchLfs(folder: string, url: string, place: GitPlace): Promise<void> {
  const git = await gitIn(folder, url, place);
  const pointers = await pointersIn(folder, url, place);
  if (pointers.length === 0) return;
  const what = `the repository keeps ${pointers.length} files in Git LFS (${pointers[0]?.path})`;
  const bytes = pointers.reduce((sum, { size }) => sum + size, 0);
  const { sourceBytes } = place.settings;
  if (!(bytes <= sourceBytes)) {
    throw new StepFailed(
      `source: ${what}, of ${bytes} bytes together: more than WINDLASS_SOURCE_MIB allows on the runner (${mibOf(sourceBytes)})`,
    );
  }
  try {
    await git("lfs", "version");
  } catch {
    throw new StepFailed(`source: ${what}, and git-lfs is not installed on the runner`);
  }
  // The address is given here, so that a `.lfsconfig` cannot name another one.
  const settings = [
    `lfs.url=${lfsAddress(url)}`,
    `remote.origin.url=${url}`,
    "filter.lfs.process=git-lfs filter-process",
    "filter.lfs.required=true",
  ];
  // Checked out once more, and only these: `git lfs pull` would fetch every file that looks like a pointer.
  for (const { path } of pointers) rmSync(join(folder, path));
  const options = settings.flatMap((setting) => ["-c", setting]);
  await git(...options, "checkout", "--quiet", "HEAD", "--", lfsFiles);
  const left = pointers.find(({ path }) => readPointer(join(folder, path)) !== undefined);
  if (left) throw new StepFailed(`source: ${what}, and ${left.path} was not fetched`);
}

interface Pointer {
  readonly path: string;
  readonly size: number;
}

async function pointersIn(folder: string, url: string, place: GitPlace): Promise<Pointer[]> {
  const git = await gitIn(folder, url, place);
  const listed = await git("ls-files", "-z", "--", lfsFiles);
  return listed.split("\0").flatMap((path) => {
    const size = path === "" ? undefined : readPointer(join(folder, path));
    return size === undefined ? [] : { path, size };
  });
}

/** The size that a pointer names; undefined: the file is none. */
function readPointer(path: string): number | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const buffer = Buffer.alloc(pointerLimit);
    const text = buffer.toString("utf8", 0, readSync(file, buffer));
    if (!text.startsWith(`${version}\n`)) return undefined;
    return Number(/^size (\d{1,15})$/m.exec(text)?.[1]);
  } finally {
    closeSync(file);
  }
}

/** As git-lfs derives it; over ssh it asks the host by itself. */
const lfsAddress = (url: string): string =>
  /^https?:/.test(url) ? `${url.replace(/\/*$/, "").replace(/\.git$/, "")}.git/info/lfs` : url;
