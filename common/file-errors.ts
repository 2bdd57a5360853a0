/** Describes errors of the file system in words. */

const descriptions: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or directory",
  ENOTDIR: "a part of the path is not a directory",
  EISDIR: "it is a directory",
  EACCES: "you have no permission",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
};

/** Returns the reason of a failed call; the message of an error that has no known code. */
export const fileErrorText = (error: unknown): string =>
  descriptions[(error as NodeJS.ErrnoException).code ?? ""] ?? (error as Error).message;

/** Describes a failed call of the file system with its path; undefined for every other error. */
export function fileFailure(error: unknown): string | undefined {
  const { code = "", syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall === "uv_cwd") return "The current directory no longer exists.";
  return path !== undefined && code in descriptions ? `${path}: ${descriptions[code]}` : undefined;
}
