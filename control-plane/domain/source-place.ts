/** Validation of the directories that a configuration names in its source. */
import { posix } from "node:path";

const controls = /\p{Cc}/u;

/**
 * Returns what is wrong with a directory of the source; undefined if it is valid. `parent`: the
 * directory that it is relative to.
 */
export function directoryProblem(directory: string, parent = ""): string | undefined {
  if (controls.test(directory)) return "must not contain control characters";
  const leaves = /^\.\.(\/|$)/.test(posix.join(parent, directory));
  return leaves ? "must be inside the source: its .. lead out of it" : undefined;
}
