/** Fetches the files that a repository keeps in Git LFS, in place of their pointers. */
import { closeSync, constants, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { StepFailedError } from "../context.ts";
import { mibOf } from "./fetch-limit.ts";
import { gitIn, type GitPlace } from "./git-run.ts";

/** A pointer is smaller than this, by its specification. */
const pointerLimit = 1024;
/** As in `.gitattributes`. */
const lfsFiles = ":(attr:filter=lfs)";
const version = "version https://git-lfs.github.com/spec/v1";

/** For the checked-out commit. Costs one run of git if there are no such files. */
export async function fetchLfs(folder: string, url: string, place: GitPlace): Promise<void> {
  const git = await gitIn(folder, url, place);
  const pointers = await pointersIn(folder, url, place);
  if (pointers.length === 0) return;
  const what = `the repository keeps ${pointers.length} files in Git LFS (${pointers[0]?.path})`;
  const bytes = pointers.reduce((sum, { size }) => sum + size, 0);
  const { sourceBytes } = place.settings;
  if (!(bytes <= sourceBytes)) {
    throw new StepFailedError(
      `source: ${what}, in total ${bytes} bytes, more than WINDLASS_SOURCE_MIB of the runner allows (${mibOf(sourceBytes)})`,
    );
  }
  try {
    await git("lfs", "version");
  } catch {
    throw new StepFailedError(`source: ${what}, and git-lfs is not installed on the runner`);
  }
  // The address is passed here, so that a `.lfsconfig` cannot name another one.
  const settings = [
    `lfs.url=${lfsAddress(url)}`,
    `remote.origin.url=${url}`,
    "filter.lfs.process=git-lfs filter-process",
    "filter.lfs.required=true",
  ];
  // Checks out only these files once more: `git lfs pull` would fetch every file that looks like a
  // pointer.
  for (const { path } of pointers) rmSync(join(folder, path));
  const options = settings.flatMap((setting) => ["-c", setting]);
  await git(...options, "checkout", "--quiet", "HEAD", "--", lfsFiles);
  const left = pointers.find(({ path }) => readPointer(join(folder, path)) !== undefined);
  if (left) throw new StepFailedError(`source: ${what}, and ${left.path} was not fetched`);
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

/** Returns the size that a pointer names, or undefined if the file is not a pointer. */
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

/** The address that git-lfs derives too; over ssh it gets the address from the host. */
const lfsAddress = (url: string): string =>
  /^https?:/.test(url) ? `${url.replace(/\/*$/, "").replace(/\.git$/, "")}.git/info/lfs` : url;
