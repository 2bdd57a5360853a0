import { expect, test } from "vitest";
import { retryAfter } from "../../common/retry-after.ts";
import { hour, minute } from "../../common/units.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

test.each([
  ["7", 7000],
  ["0", 0],
  ["Thu, 01 Jan 2026 00:01:00 GMT", minute],
  // Past.
  ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
  // A timer of Node would fire at once.
  ["99999999999", hour],
  ["9".repeat(400), hour],
  ["Thu, 01 Jan 2099 00:00:00 GMT", hour],
  ["soon", undefined],
  ["-1x", undefined],
  ["", undefined],
  [null, undefined],
  [undefined, undefined],
  [["7", "8"], undefined],
])("retryAfter(%j) is %j", (header, expected) => {
  expect(retryAfter(header, undefined, now)).toBe(expected);
});

test("a caller sets another longest wait", () => {
  expect(retryAfter("3600", minute, now)).toBe(minute);
});
