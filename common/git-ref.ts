/** Validation of git refs, for the control plane and, once more, for the runner. */

const gitRefLimit = 255;

/** By the rules of `git check-ref-format`, and no option or refspec; undefined if it is valid. */
export function gitRefProblem(ref: string): string | undefined {
  if (ref.length > gitRefLimit) return `must have at most ${gitRefLimit} characters`;
  if (/^[-+]/.test(ref))
    return 'must be a branch, a tag or a commit, and not begin with "-" or "+"';
  const isName =
    !/\p{Cc}/u.test(ref) &&
    ref !== "" &&
    !/[ ~^:?*[\\]|\.\.|@\{|\/\/|^\/|[/.]$|^@$/.test(ref) &&
    !ref.split("/").some((part) => part.startsWith(".") || part.endsWith(".lock"));
  if (isName) return undefined;
  return "must be a branch, a tag or a commit whose name git allows: without spaces, control characters, ~ ^ : ? * [ \\ .. // and @{, and no part of it begins with . or ends with . or .lock";
}
