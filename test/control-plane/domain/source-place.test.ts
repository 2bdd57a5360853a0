import { describe, expect, test } from "vitest";
import { directoryProblem } from "../../../control-plane/domain/source-place.ts";

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
