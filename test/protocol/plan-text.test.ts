import { expect, test } from "vitest";
import { differenceStart, nothingText } from "../../protocol/plan-text.ts";

test("a plan without changes says only what it has compared", () => {
  const options = { destroy: false, refresh_only: false, targets: [], replace: [] };
  expect(nothingText(null)).toBe("Nothing: the infrastructure matches the configuration.");
  expect(nothingText({ ...options, replace: ["a.b"] })).toBe(nothingText(null));
  expect(nothingText({ ...options, refresh_only: true })).toMatch(
    /^Nothing: nothing was changed outside of terraform/,
  );
  expect(nothingText({ ...options, destroy: true })).toContain("nothing to destroy");
  expect(nothingText({ ...options, targets: ["a.b"] })).toContain("this part of");
});

test("two long values are shown from shortly before their first difference", () => {
  const same = "x".repeat(100);
  expect(differenceStart(`${same}a`, `${same}b`)).toBe(70);
  expect(differenceStart("short a", "short b")).toBe(0);
  expect(differenceStart(undefined, same)).toBe(0);
});
