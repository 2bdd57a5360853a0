import { describe, expect, test } from "vitest";
import { PatternSet } from "../../../common/redaction/pattern-set.ts";

const setOf = (...patterns: string[]) => new PatternSet(patterns.map((text) => Buffer.from(text)));
const any = () => true;
const matchIn = (set: PatternSet, text: string, accepts: (length: number) => boolean = any) =>
  set.matchAt(Buffer.from(text), 0, accepts);

describe("a set of patterns", () => {
  test("leaves out what is shorter than six bytes, and knows the longest", () => {
    expect(setOf().longest).toBe(0);
    expect(setOf("short").longest).toBe(0);
    expect(setOf("sixsix", "eightttt", "seventh").longest).toBe(8);
    expect(matchIn(setOf("short", "longer"), "shorter")).toBe(0);
  });

  test.each([
    ["abcdef", 6],
    ["abcdefgh", 8],
    ["abcdefghij", 10],
    ["abcdefghiX", 8],
    ["abcdeX", 0],
    ["abcde", 0],
    ["aaaaaa", 0],
    ["zzzzzz", 0],
    ["mnopqr", 6],
    ["mnopqrst", 6],
  ])("finds the longest that %s starts with: %i bytes", (text, length) => {
    const set = setOf("mnopqr", "abcdefghij", "abcdef", "abcdefgh", "abcdef", "mnopqr-other");
    expect(matchIn(set, text)).toBe(length);
  });

  test("finds a shorter one if the longer is not accepted", () => {
    const set = setOf("abcdef", "abcdefgh", "abcdefghij", "abcdefgz");
    expect(matchIn(set, "abcdefghij", (length) => length < 10)).toBe(8);
    expect(matchIn(set, "abcdefghij", (length) => length < 8)).toBe(6);
    expect(matchIn(set, "abcdefghij", () => false)).toBe(0);
    expect(matchIn(set, "abcdefgz", (length) => length < 8)).toBe(6);
  });

  test.each([
    ["abc", true],
    ["a", true],
    ["abcdefg", true],
    ["abcdef", true],
    ["mnop", true],
    ["abcdefgh", false],
    ["mnopqr", false],
    ["abcdefgX", false],
    ["abX", false],
    ["zz", false],
    ["z", false],
  ])("tells whether %s may become one: %s", (text, expected) => {
    const set = setOf("abcdef", "abcdefgh", "mnopqr");
    expect(set.mayGrowAt(Buffer.from(`--${text}`), 2)).toBe(expected);
  });

  test("passes over places with the same first two bytes, and less than six bytes before the end", () => {
    const set = setOf("abcdef", "mnopqr");
    const next = (text: string, from = 0) => set.nextCandidate(Buffer.from(text), from);
    expect(next("abXdef abcdXf ab-mnopqr")).toBe(17);
    expect(next("abcdef", 1)).toBe(6);
    expect(next("abcde")).toBe(5);
  });

  test("finds each of many and long ones, also if they are given twice", () => {
    const names = Array.from({ length: 300 }, (_, index) => `secret ${index * 7919} of many`);
    const long = ["x".repeat(5000), "y".repeat(20_000)];
    const set = setOf(...names, ...long, ...names.toReversed());
    for (const name of [...names, ...long]) expect(matchIn(set, `${name}!`)).toBe(name.length);
    expect(set.longest).toBe(20_000);
    expect(matchIn(set, "secret x of many")).toBe(0);
  });
});
