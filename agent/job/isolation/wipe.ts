/** Removes a job's workspace, whatever the job has done to it. */
import { chmodSync, lstatSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runProgram } from "../../machine/programs.ts";

/** The prefix of a workspace that waits for its removal. No id of a job has a dot. */
export const endedPrefix = ".ended-";

/** Where the workspace of this job waits for its removal. */
export const endedPath = (root: string, id: string): string =>
  join(dirname(root), `${endedPrefix}${id}`);

/** Frees the place of a workspace; `endedPath` is then to be removed. */
export async function moveAway(root: string, id: string): Promise<void> {
  try {
    renameSync(root, endedPath(root, id));
  } catch (error) {
    // Already done, or something is in the way, such as a mount.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") await removeTree(root);
  }
}

/** Unmounts a mount in it first, because what is behind it does not belong to the job. */
export async function removeTree(root: string): Promise<void> {
  await unmountIn(root);
  try {
    await rm(root, { recursive: true, force: true });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // A job can nest directories beyond the longest path: the program enters one by one.
    if (code === "ENAMETOOLONG") return void (await runProgram("rm", ["-rf", "--", root]));
    if (!["EACCES", "EPERM", "ENOTEMPTY"].includes(code)) throw error;
    openFolders(root);
    await rm(root, { recursive: true, force: true });
  }
}

async function unmountIn(root: string): Promise<void> {
  for (const mount of mountsIn(root)) {
    try {
      await runProgram("umount", ["--lazy", mount]);
    } catch (error) {
      throw new Error(
        `the job left a mount at ${mount} that cannot be unmounted (${(error as Error).message}): unmount it by hand`,
        { cause: error },
      );
    }
  }
}

/** Innermost first. */
function mountsIn(root: string): string[] {
  if (process.platform !== "linux") return [];
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .map((path) => path.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(parseInt(code, 8))))
    .filter((path) => path === root || path.startsWith(`${root}/`))
    .toReversed();
}

/** Not even its owner can empty a directory without write permission. The rest is removed first. */
function openFolders(path: string): void {
  try {
    if (!lstatSync(path).isDirectory()) return;
    chmodSync(path, 0o700);
    for (const name of readdirSync(path)) openFolders(join(path, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
