import { expect, test } from "vitest";
// @ts-expect-error: the scripts of the pages have their own tsconfig.
import * as untyped from "../../../../control-plane/console/browser/age.js";

const { age, took } = untyped as {
  age(milliseconds: number, utc: string): string;
  took(milliseconds: number): string;
};
const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000] as const;

test.each([
  ["in 7 d", 7 * day - 5 * second],
  ["in 7 d", 6 * day + 23 * hour],
  ["in 6 d", 6 * day + 2 * hour],
  ["in 1 d", day - 5 * second],
  ["in 1 h", hour - 5 * second],
  ["1 d ago", -day - hour],
  ["59 min ago", -59 * minute - 20 * second],
  ["1 h ago", -59 * minute - 40 * second],
  ["59 s ago", -59 * second],
  ["0 s ago", 0],
  ["2026-01-08", 31 * day],
])("%s is said of %d ms", (words, milliseconds) => {
  expect(age(milliseconds, "2026-01-08 00:00:00 UTC").replaceAll("\u00a0", " ")).toBe(words);
});

test.each([
  [0, "0 s"],
  [440, "0.4 s"],
  [59_960, "1 min"],
  [200_000, "3 min 20 s"],
  [7_500_000, "2 h 5 min"],
])("says that %i ms took %s", (milliseconds, expected) => {
  expect(took(milliseconds)).toBe(expected.replaceAll(" ", "\u00a0"));
});
