/** Whether changed files of a repository are those of a configuration. */
import { posix } from "node:path";
import ignore from "ignore";

export interface Watched {
  /** The path of the source, and directories in it, relative to the repository. */
  readonly directories: readonly string[];
  /** Patterns of other files, in the syntax of .gitignore. */
  readonly patterns: readonly string[];
}

export interface Changed {
  readonly paths: readonly string[];
  /** Whether the list is incomplete: then the configuration may be touched. */
  readonly isCut: boolean;
}

export function touches({ paths, isCut }: Changed, { directories, patterns }: Watched): boolean {
  if (isCut) return true;
  const roots = directories.map(directoryOf);
  const matcher = ignore().add([...patterns]);
  return paths.some(
    (path) =>
      roots.some((root) => root === "" || path === root || path.startsWith(`${root}/`)) ||
      (ignore.isPathValid(path) && matcher.ignores(path)),
  );
}

/** Without `./` and slashes at its ends; "": the whole repository, as for one that leads out of it. */
function directoryOf(directory: string): string {
  const path = posix.normalize(`./${directory}`).replace(/^\/+|\/+$/g, "");
  return path === "." || path.startsWith("..") ? "" : path;
}
