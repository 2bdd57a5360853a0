/** Files that need not be there, and directories that must be. */
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Names the directory that `windlass up` deployed, in its `.windlass/`, beside a server's data. */
export const linkName = "link.json";

/** Returns the text of a file; undefined if there is none. */
export function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Returns the first directory that it made; undefined if there is one already. The recursive mkdir
 * of Node (24) does not end where the kernel refuses with ENOENT, as in /proc and at a mount point
 * of an automounter.
 */
export function makeDirectory(path: string, mode = 0o777): string | undefined {
  if (isDirectory(path)) return undefined;
  const above = dirname(path);
  const first = above === path ? undefined : makeDirectory(above, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isDirectory(path)) throw error;
    return first;
  }
  return first ?? path;
}

/** Whatever the reason that it is not known to be one, mkdir says it. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Whether a directory could not be made because it cannot be at this path. */
export function isUnmakeable(error: unknown): boolean {
  const { code = "", syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return syscall === "mkdir" && unmakeable.has(code);
}

const unmakeable = new Set([
  "EACCES",
  "EEXIST",
  "ELOOP",
  "ENAMETOOLONG",
  "ENOENT",
  "ENOTDIR",
  "EPERM",
  "EROFS",
]);
