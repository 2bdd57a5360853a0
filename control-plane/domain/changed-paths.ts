/** Whether changed files of a repository are those of a configuration. */
import { posix } from "node:path";
import { BudgetError, isNamed, parsePattern } from "./path-patterns.ts";

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

/** Steps for one configuration: half a second at most. Then it may be touched. */
const stepsLimit = 2_000_000;
/** Steps for all configurations of a change: ten seconds, in turns. Then each may be touched. */
export const stepsOfChange = 20 * stepsLimit;
const left = new WeakMap<Changed, number>();

export function touches(changed: Changed, { directories, patterns }: Watched): boolean {
  const { paths, isCut } = changed;
  if (isCut) return true;
  const roots = directories.map(directoryOf);
  const isBelow = (path: string) =>
    roots.some((root) => root === "" || path === root || path.startsWith(`${root}/`));
  if (paths.some(isBelow)) return true;
  const parsed = patterns.map(parsePattern).filter((one) => one !== undefined);
  if (parsed.length === 0) return false;
  const before = left.get(changed) ?? stepsOfChange;
  const granted = Math.min(stepsLimit, before);
  const budget = { steps: granted };
  try {
    return paths.some((path) => {
      const parts = path.split("/").map((part) => Array.from(part));
      return parsed.some((pattern) => isNamed(pattern, parts, budget));
    });
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error;
    return true;
  } finally {
    left.set(changed, before - granted + Math.max(0, budget.steps));
  }
}

/** Without `./` and slashes at its ends; "": the whole repository, as for one that leads out of it. */
function directoryOf(directory: string): string {
  const path = posix.normalize(`./${directory}`).replace(/^\/+|\/+$/g, "");
  return path === "." || path.startsWith("..") ? "" : path;
}
