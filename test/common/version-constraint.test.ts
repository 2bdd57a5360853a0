import { describe, expect, test } from "vitest";
import {
  compareVersions,
  constraintProblem,
  parseConstraint,
  parseVersion,
  type Version,
} from "../../common/version-constraint.ts";

const version = (text: string): Version => {
  const parsed = parseVersion(text);
  if (!parsed) throw new Error(`${text} is not a version`);
  return parsed;
};
const admits = (constraint: string | null, text: string): boolean =>
  parseConstraint(constraint).admits(version(text));

describe("parseConstraint", () => {
  test.each([
    ["1.11.4", "1.11.4", true],
    ["v1.11.4", "1.11.4", true],
    ["= 1.11.4", "1.11.5", false],
    ["1.11", "1.11.0", true],
    ["1.11", "1.11.1", false],
    ["!= 1.11.4", "1.11.4", false],
    ["!= 1.11.4", "1.11.5", true],
    ["> 1.11.4", "1.11.4", false],
    ["> 1.9", "1.10.0", true],
    [">= 1.11.4", "1.11.4", true],
    ["< 1.11.4", "1.11.3", true],
    ["<= 1.11.4", "1.11.4", true],
    ["~> 1.10", "1.10.0", true],
    ["~> 1.10", "1.11.9", true],
    ["~> 1.10", "1.9.9", false],
    ["~> 1.10", "2.0.0", false],
    ["~> 1.10.0", "1.10.7", true],
    ["~> 1.10.0", "1.11.0", false],
    ["~> 1.10.3", "1.10.2", false],
    ["~> 1", "2.0.0", true],
    [">=1.0,<2.0", "1.11.4", true],
    [">= 1.0, < 2.0, != 1.11.4", "1.11.4", false],
    ["  >= 1.0 ", "1.11.4", true],
    [">= 1.0", "1.12.0-rc1", false],
    ["~> 1.12.0", "1.12.0-rc1", false],
    ["1.12.0-rc1", "1.12.0-rc1", true],
    ["1.12.0-rc1", "1.12.0", false],
    [null, "1.12.0-rc1", true],
  ] as const)("for %s admits version %s: %s", (constraint, text, expected) => {
    expect(admits(constraint, text)).toBe(expected);
  });

  test.each([
    ["", /a version is missing/],
    ["   ", /a version is missing/],
    ["1.0,", /a version is missing/],
    ["^1.5", /has no operator \^; write for example/],
    ["1.x", /placeholder/],
    ["1.11.*", /placeholder/],
    ["*", /placeholder/],
    [">= 1.0 < 2.0", /separate several conditions by commas/],
    ["1.10 1.11", /separate several conditions by commas/],
    ["latest", /is not a version/],
    ["=> 1.0", /is not a version/],
    ["== 1.0", /is not a version/],
    ["> = 1.0", /is not a version/],
    ["1.2.3.4", /is not a version/],
    [">= 1.12.0-rc1", /required only by its exact version/],
  ])('refuses "%s" with one line that says what is wrong', (constraint, message) => {
    expect(() => parseConstraint(constraint)).toThrow(message);
    expect(() => parseConstraint(constraint)).toThrow(/^engine_version ".*" is not valid: [^\n]+$/);
    expect(`engine_version ${constraintProblem(constraint)}`).toMatch(message);
  });
});

test("compareVersions sorts versions by precedence, and parseVersion refuses other text", () => {
  const ordered = [
    "0.15.5",
    "1.2.0",
    "1.10.0-alpha1",
    "1.10.0-beta1",
    "1.10.0-beta2",
    "1.10.0-rc1",
    "1.10.0",
    "1.10.1",
  ];
  const shuffled = ordered.toReversed().map(version);
  expect(shuffled.toSorted(compareVersions).map(({ text }) => text)).toEqual(ordered);
  expect(version("v1.11").text).toBe("1.11.0");
  expect(parseVersion("1.11.4/../..")).toBeUndefined();
  expect(parseVersion(`1.11.4-${"a".repeat(300)}`)).toBeUndefined();
  expect(compareVersions(version("1.0.0-01"), version("1.0.0-2"))).toBeLessThan(0);
});
