import { expect, test } from "vitest";
import { backoff, pollDelay } from "../../common/backoff.ts";

test.each([
  // tries, random, Retry-After in seconds, milliseconds
  [1, 0, 0, 125],
  [1, 1, 0, 250],
  [2, 1, 0, 500],
  [3, 0.5, 0, 750],
  [8, 1, 0, 30_000],
  [8, 0, 0, 15_000],
  [1000, 1, 0, 30_000],
  [1, 1, 7, 7000],
  [1, 1, 3600, 3_600_000],
])("attempt %i with random %d and Retry-After %d waits %i ms", (tries, random, after, expected) => {
  expect(backoff(tries, random, after)).toBe(expected);
});

test("poll delays are spread around their mean", () => {
  expect([0, 0.5, 1].map((random) => pollDelay(2000, random))).toEqual([1000, 2000, 3000]);
});
