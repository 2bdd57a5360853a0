import { describe, expect, test } from "vitest";
import { directoryProblem, gitRefProblem } from "../../../control-plane/domain/source-place.ts";

const words = (text: string) => text.trim().split(/\s+/);

describe("a git ref", () => {
  test.each([
    ...words(`
      main v1.2.3 feature/x-1 refs/heads/main 0123456789abcdef0123456789abcdef01234567 HEAD
      release_1+2 a@b a=#b x.locked
    `),
    "münchen/ß",
  ])("%j is accepted", (ref) => expect(gitRefProblem(ref)).toBeUndefined());

  test.each([
    ...words(`
      a..b main:other a^ a~1 a?b a* a[b @{-1} a@{1} a.lock a.lock/b a/ /a a//b .a a/.b a. @
    `),
    "a b",
    "a\\b",
    "a\nb",
    "a\u0000b",
    "a\u007fb",
  ])("%j is refused", (ref) =>
    expect(gitRefProblem(ref)).toMatch(
      /^must be a branch, a tag or a commit whose name git allows/,
    ),
  );

  test.each(["-f", "--upload-pack=x", "+main"])("%j is refused as an option of git", (ref) =>
    expect(gitRefProblem(ref)).toBe(
      'must be a branch, a tag or a commit, and not begin with "-" or "+"',
    ),
  );
});

describe("a directory of a source", () => {
  test.each([
    ["", ""],
    [".", ""],
    ["envs/prod/", ""],
    ["/envs", ""],
    ["a/../b", ""],
    ["..a/b..", ""],
    ["../modules", "envs"],
    ["..", "envs/prod"],
  ])("%j of %j is accepted", (directory, parent) =>
    expect(directoryProblem(directory, parent)).toBeUndefined(),
  );

  test.each([
    ["..", ""],
    ["../..", ""],
    ["a/../../b", ""],
    ["../..", "envs"],
    ["./../x", "."],
  ])("%j of %j is refused", (directory, parent) =>
    expect(directoryProblem(directory, parent)).toBe(
      "must be inside the source: its .. lead out of it",
    ),
  );

  test("with a control character is refused", () =>
    expect(directoryProblem("a\nb")).toBe("must not contain control characters"));
});
