import { expect, test } from "vitest";
import { firstDifference } from "../../common/first-difference.ts";

test.each([
  ["abc", "abd", 2],
  ["abc", "abc", 3],
  ["ab", "abc", 2],
  ["abc", "ab", 2],
  ["", "a", 0],
])("%j and %j differ first at %i", (one, other, at) =>
  expect(firstDifference(one, other)).toBe(at),
);
