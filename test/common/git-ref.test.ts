import { describe, expect, test } from "vitest";
import { gitRefProblem } from "../../common/git-ref.ts";

const words = (text: string) => text.trim().split(/\s+/);

describe("a git ref", () => {
  test.each([
    ...words(`
      main v1.2.3 feature/x-1 refs/heads/main 0123456789abcdef0123456789abcdef01234567 HEAD
      release_1+2 a@b a=#b x.locked
    `),
    "münchen/ß",
    "a;b,(c)",
    "x".repeat(255),
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
    "",
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

  test("of 256 characters is refused", () =>
    expect(gitRefProblem("x".repeat(256))).toBe("must have at most 255 characters"));
});
