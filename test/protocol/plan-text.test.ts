import { expect, test } from "vitest";
import { differenceStart, nothingText, planOptionsWords } from "../../protocol/plan-text.ts";
import { jobTypeWords } from "../../protocol/words.ts";

const options = { destroy: false, refresh_only: false, targets: [], replace: [] };

test("a plan without changes says only what it has compared", () => {
  expect(nothingText(null)).toBe("Nothing: the infrastructure matches the configuration.");
  expect(nothingText({ ...options, replace: ["a.b"] })).toBe(nothingText(null));
  expect(nothingText({ ...options, refresh_only: true })).toMatch(
    /^Nothing: nothing was changed outside of terraform/,
  );
  expect(nothingText({ ...options, destroy: true })).toContain("nothing to destroy");
  expect(nothingText({ ...options, targets: ["a.b"] })).toContain("this part of");
  expect(nothingText({ ...options, exclude: ["a.b"] })).toContain("this part of");
});

test("a plan with targets that changes nothing tells the reader to check them", () => {
  const targets = { ...options, targets: ["a.b"] };
  const limited = "This plan is limited to a.b, and what it depends on.";
  expect(planOptionsWords(targets)).toEqual([limited]);
  expect(planOptionsWords(targets, { applyable: true })).toEqual([limited]);
  expect(planOptionsWords(targets, { applyable: false })).toEqual([
    limited,
    expect.stringContaining("check the spelling"),
  ]);
  expect(planOptionsWords(options, { applyable: false })).toEqual([]);
});

test("a plan to destroy that finds nothing does not claim to destroy", () => {
  const destroy = { ...options, destroy: true };
  const what = "everything that the configuration has deployed.";
  expect(planOptionsWords(destroy, { applyable: true })).toEqual([`This plan destroys ${what}`]);
  expect(planOptionsWords(destroy, { applyable: false })).toEqual([
    `This plan was to destroy ${what}`,
  ]);
});

test("a plan that excludes a part names it, and does not claim to destroy it", () => {
  const some = { ...options, exclude: ["a.b", "module.c"] };
  expect(planOptionsWords(some)).toEqual([
    "This plan leaves out a.b, module.c, and what depends on it.",
  ]);
  expect(planOptionsWords({ ...some, destroy: true })).toEqual([
    "This plan destroys everything that the configuration has deployed, except a.b, module.c and what it depends on.",
  ]);
  expect(jobTypeWords("PLAN", { ...some, destroy: true })).toBe("PLAN");
});

test("two long values are shown from shortly before their first difference", () => {
  const same = "x".repeat(100);
  expect(differenceStart(`${same}a`, `${same}b`)).toBe(70);
  expect(differenceStart("short a", "short b")).toBe(0);
  expect(differenceStart(undefined, same)).toBe(0);
});
