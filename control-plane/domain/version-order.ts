/** Which of two semantic versions is higher (semver.org, 11). Both are well formed. */

/** Negative, zero or positive, as for a sort; what follows a plus does not count. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  return (
    compareParts(left.core, right.core) ||
    // A version without a pre-release is higher than the same with one.
    Number(left.pre.length === 0) - Number(right.pre.length === 0) ||
    compareParts(left.pre, right.pre)
  );
}

/** Whether a runner's version is known to be lower than the highest published one. What is no version says nothing. */
export const isBehind = (version: string | null, latest: string | null): boolean =>
  version !== null &&
  latest !== null &&
  wellFormed.test(version) &&
  compareVersions(version, latest) < 0;

const wellFormed = /^\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/;

function parse(version: string): { core: string[]; pre: string[] } {
  const [precedence = ""] = version.split("+");
  const dash = precedence.indexOf("-");
  const core = dash === -1 ? precedence : precedence.slice(0, dash);
  return {
    core: core.split("."),
    pre: dash === -1 ? [] : precedence.slice(dash + 1).split("."),
  };
}

function compareParts(a: readonly string[], b: readonly string[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order = comparePart(part, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Numbers by value and below words, words by their characters. */
function comparePart(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  // Numbers may be longer than a double holds exactly; they have no leading zeros.
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return a === b ? 0 : a < b ? -1 : 1;
}
