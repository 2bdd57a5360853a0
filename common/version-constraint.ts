/** Version constraints as terraform's `required_version` reads them. Pure. */

import compareLoose from "semver/functions/compare-loose.js";

export interface Version {
  /** Without a leading `v`. */
  readonly text: string;
  readonly segments: readonly [number, number, number];
  /** `rc1` of `1.12.0-rc1`; empty for a stable version. */
  readonly pre: string;
}

export interface Constraint {
  /** The text of the constraint, for messages; empty if any version will do. */
  readonly text: string;
  /** A pre-release satisfies only a constraint that names it exactly. */
  admits(version: Version): boolean;
}

/** Operators of a constraint, the longer ones first, so that `>=` is not read as `>`. */
const operators = ["!=", ">=", "<=", "~>", "=", ">", "<"] as const;
type Operator = (typeof operators)[number];

/** Parses a whole version such as `1.11.4` or `1.12.0-rc1`. Returns undefined for anything else. */
export function parseVersion(text: string): Version | undefined {
  return readVersion(text.trim())?.version;
}

/** Less than 0 if `a` is older; pre-releases as terraform does: `beta10` before `beta2`. */
export const compareVersions = (a: Version, b: Version): number => compareLoose(a.text, b.text);

/** Null admits every version. Throws an error that says what is wrong, with an example. */
export function parseConstraint(text: string | null): Constraint {
  if (text === null) return { text: "", admits: () => true };
  const problem = constraintProblem(text);
  if (problem !== undefined) throw new Error(`engine_version ${problem}`);
  const parts = text
    .split(",")
    .map(parsePart)
    .filter((part) => typeof part !== "string");
  return { text: text.trim(), admits: (version) => parts.every((admits) => admits(version)) };
}

/** Returns what is wrong with a constraint; undefined if it is valid. */
export function constraintProblem(text: string): string | undefined {
  const problem = text
    .split(",")
    .map(parsePart)
    .find((part) => typeof part === "string");
  return problem && `"${text}" is not valid: ${problem}`;
}

type Admits = (version: Version) => boolean;

/** Returns what is wrong with the part if it is not valid. */
function parsePart(part: string): Admits | string {
  const given = part.trim();
  const written = operators.find((one) => given.startsWith(one));
  const operator: Operator = written ?? "=";
  const read = readVersion(given.slice(written?.length ?? 0).trim());
  if (!read) return whatIsWrong(given);
  const { version, precision } = read;
  if (version.pre === "") {
    return (other) => other.pre === "" && compare(operator, other, version, precision);
  }
  if (operator === "=") return (other) => compareVersions(other, version) === 0;
  return `a pre-release such as ${version.text} can be required only by its exact version`;
}

function compare(
  operator: Operator,
  version: Version,
  wanted: Version,
  precision: number,
): boolean {
  const order = compareVersions(version, wanted);
  switch (operator) {
    case "=":
      return order === 0;
    case "!=":
      return order !== 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case "~>":
      // Only the last segment that is written may grow: ~> 1.10 admits 1.11, ~> 1.10.0 does not, ~>
      // 1 admits 2.
      return (
        order >= 0 &&
        wanted.segments
          .slice(0, precision - 1)
          .every((segment, at) => segment === version.segments[at])
      );
  }
}

/** `precision`: segments that were written. Build metadata (`+ent`) does not count. */
function readVersion(text: string): { version: Version; precision: number } | undefined {
  const match =
    /^v?(\d{1,9}(?:\.\d{1,9}){0,2})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$/.exec(
      text,
    );
  if (!match || text.length > longestVersion) return undefined;
  const [, numbers = "", pre = ""] = match;
  const [major = 0, minor = 0, patch = 0] = numbers.split(".").map(Number);
  const full = `${major}.${minor}.${patch}${pre === "" ? "" : `-${pre}`}`;
  return {
    version: { text: full, segments: [major, minor, patch], pre },
    precision: numbers.split(".").length,
  };
}

function whatIsWrong(part: string): string {
  const example = 'write for example "~> 1.11.0", or ">= 1.9, < 2.0"';
  if (part === "") return `a version is missing; ${example}`;
  if (part.startsWith("^")) return `terraform has no operator ^; ${example}`;
  if (/^[^\d]*[\d.]+\.[x*]/i.test(part) || /^[x*]$/i.test(part))
    return `"${part}" has a placeholder, which terraform does not support; ${example}`;
  if (/\d\s+\S/.test(part)) return `separate several conditions by commas; ${example}`;
  return `"${part}" is not a version, with or without one of = != > >= < <= ~> before it; ${example}`;
}

/** The form that semver reads. */
const longestVersion = 256;
