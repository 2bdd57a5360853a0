/** Which changed files are those of a configuration. */
import { expect, test } from "vitest";
import { touches } from "../../../control-plane/domain/changed-paths.ts";

const touched = (paths: readonly string[], patterns: readonly string[], directories = ["own"]) =>
  touches({ paths, isCut: false }, { directories, patterns });

test.each([
  ["*.tf", "modules/a.tf", true],
  ["*.tf", "modules/a.tfvars", false],
  ["/*.tf", "modules/a.tf", false],
  ["shared", "shared/x/y.txt", true],
  ["shared", "modules/shared/y.txt", true],
  ["shared/", "shared", false],
  ["shared/", "modules/shared/y", true],
  ["modules/net", "other/modules/net/a.tf", false],
  ["modules/**", "modules/a/b.tf", true],
  ["modules/**", "modules", false],
  ["**/net/**/x.tf", "modules/net/x.tf", true],
  ["**/net/**/x.tf", "modules/net/a/b/x.tf", true],
  ["**/net/**/x.tf", "modules/network/x.tf", false],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["a?c", "a/c", false],
  ["[a-c]x[!0-9].tf", "bxy.tf", true],
  ["[a-c]x[!0-9].tf", "bx1.tf", false],
  ["[]a]", "]", true],
  ["[a", "[a", false],
  ["\\*.tf", "a.tf", false],
  ["\\*.tf", "*.tf", true],
  ["# a comment", "# a comment", false],
  ["é?", "é😀", true],
  ["/", "a", false],
])("%j and %j: %s", (pattern, path, expected) => {
  expect(touched([path], [pattern])).toBe(expected);
});

test("a directory contains what is below it, and one that leads out contains everything", () => {
  expect(touched(["own/a.tf"], [], ["./own/"])).toBe(true);
  expect(touched(["owner/a.tf"], [], ["own"])).toBe(false);
  expect(touched(["b.tf"], [], ["../x"])).toBe(true);
  expect(touches({ paths: [], isCut: true }, { directories: ["own"], patterns: [] })).toBe(true);
});

test("patterns and paths of any size take a bounded time", () => {
  const deep = "a/".repeat(500);
  const begun = performance.now();
  expect(touched([`${deep}c`], [`${"**/a/".repeat(100)}b`])).toBe(false);
  expect(touched([`${"a".repeat(4000)}c`], [`${"*a".repeat(250)}b`])).toBe(false);
  const paths = Array.from({ length: 6000 }, (_, n) => `${deep}${n}`);
  const patterns = Array.from({ length: 50 }, (_, n) => `${"**/a/".repeat(100)}${n}b`);
  // What cannot be decided may be touched.
  expect(touched(paths, patterns)).toBe(true);
  expect(performance.now() - begun).toBeLessThan(20_000);
});
