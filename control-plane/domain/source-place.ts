/** Validation of what a configuration names in its source: a git ref and directories. */
import { posix } from "node:path";

const controls = /\p{Cc}/u;

/**
 * Returns what is wrong with a branch, tag or commit by the rules of `git check-ref-format`;
 * undefined if it is valid. A name that git would read as an option or as a refspec is not.
 */
export function gitRefProblem(ref: string): string | undefined {
  if (/^[-+]/.test(ref))
    return 'must be a branch, a tag or a commit, and not begin with "-" or "+"';
  const isName =
    !controls.test(ref) &&
    !/[ ~^:?*[\\]|\.\.|@\{|\/\/|^\/|[/.]$|^@$/.test(ref) &&
    !ref.split("/").some((part) => part.startsWith(".") || part.endsWith(".lock"));
  if (isName) return undefined;
  return "must be a branch, a tag or a commit whose name git allows: without spaces, control characters, ~ ^ : ? * [ \\ .. // and @{, and no part of it begins with . or ends with . or .lock";
}

/**
 * Returns what is wrong with a directory of the source; undefined if it is valid. `parent`: the
 * directory that it is relative to.
 */
export function directoryProblem(directory: string, parent = ""): string | undefined {
  if (controls.test(directory)) return "must not contain control characters";
  const leaves = /^\.\.(\/|$)/.test(posix.join(parent, directory));
  return leaves ? "must be inside the source: its .. lead out of it" : undefined;
}
