/**
 * Patterns in the syntax of .gitignore without negation. Not as regular expressions: one of a few
 * `**` took minutes for one path, and people write both the patterns and the paths.
 */

/** Counts steps, so that many long patterns and paths cannot occupy the server. */
export interface Budget {
  steps: number;
}

export class BudgetError extends Error {
  override readonly name = "BudgetError";
}

type Token = "*" | { readonly matches: (character: string) => boolean };

export interface PathPattern {
  /** Null: any number of directories. */
  readonly parts: readonly (readonly Token[] | null)[];
  /** Whether it names directories only, and so what is below them. */
  readonly isDirectory: boolean;
}

/** Undefined for a comment, and for one that names nothing. */
export function parsePattern(text: string): PathPattern | undefined {
  const line = text.replace(/(?<!\\) +$/, "");
  if (line.startsWith("#")) return undefined;
  const isDirectory = line.endsWith("/");
  const path = line.replace(/\/+$/, "").replace(/^\//, "");
  if (path === "") return undefined;
  // Without a slash before its end, it is a name in any directory.
  const isAnywhere = !line.slice(0, -1).includes("/");
  const parts = path.split("/").map((part) => (part === "**" ? null : tokensOf(part)));
  return { parts: isAnywhere ? [null, ...parts] : parts, isDirectory };
}

function tokensOf(part: string): Token[] {
  const tokens: Token[] = [];
  const characters = Array.from(part);
  for (let at = 0; at < characters.length; at++) {
    const one = characters[at]!;
    if (one === "*") {
      if (tokens.at(-1) !== "*") tokens.push("*");
    } else if (one === "?") tokens.push({ matches: () => true });
    else if (one === "[") {
      const end = characters.indexOf("]", at + (/[!^]/.test(characters[at + 1] ?? "") ? 3 : 2));
      // One that is not closed matches nothing.
      tokens.push({ matches: end < 0 ? () => false : classOf(characters.slice(at + 1, end)) });
      at = end < 0 ? characters.length : end;
    } else {
      const literal = one === "\\" ? characters[++at] : one;
      tokens.push({ matches: (character) => character === literal });
    }
  }
  return tokens;
}

/** A class such as `a-z_`, or one of all others with `!`. */
function classOf(inside: readonly string[]): (character: string) => boolean {
  const isNegated = inside[0] === "!" || inside[0] === "^";
  const ranges: (readonly [from: string, to: string])[] = [];
  for (let at = isNegated ? 1 : 0; at < inside.length; at++) {
    const from = inside[at]!;
    const isRange = inside[at + 1] === "-" && at + 2 < inside.length;
    ranges.push([from, isRange ? inside[at + 2]! : from]);
    if (isRange) at += 2;
  }
  return (one) => ranges.some(([from, to]) => one >= from && one <= to) !== isNegated;
}

/** Whether the pattern names the file or a directory that contains it. Throws BudgetError. */
export function isNamed(
  { parts, isDirectory }: PathPattern,
  path: readonly (readonly string[])[],
  budget: Budget,
): boolean {
  // Before which of the path's parts what was read of the pattern may end.
  let ends = new Set([0]);
  for (const [index, part] of parts.entries()) {
    const next = new Set<number>();
    if (part === null) {
      const least = Math.min(...ends) + (index === parts.length - 1 ? 1 : 0);
      spend(budget, path.length);
      for (let end = least; end <= path.length; end++) next.add(end);
    } else
      for (const end of ends)
        if (end < path.length && isMatch(part, path[end]!, budget)) next.add(end + 1);
    if (next.size === 0) return false;
    ends = next;
  }
  return [...ends].some((end) => end > 0 && (end < path.length || !isDirectory));
}

/** Goes back to the last `*` only: that is enough, and needs no more steps than the product. */
function isMatch(tokens: readonly Token[], name: readonly string[], budget: Budget): boolean {
  let [at, token, star, from] = [0, 0, -1, 0];
  while (at < name.length) {
    spend(budget, 1);
    const one = tokens[token];
    if (one === "*") [star, from, token] = [token, at, token + 1];
    else if (one?.matches(name[at]!)) [at, token] = [at + 1, token + 1];
    else if (star >= 0) [from, at, token] = [from + 1, from + 1, star + 1];
    else return false;
  }
  return tokens.slice(token).every((one) => one === "*");
}

function spend(budget: Budget, steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0) throw new BudgetError("the patterns and paths are too long");
}
