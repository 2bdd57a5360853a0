import { describe, expect, test } from "vitest";
import { directoryProblem, gitUrlProblem } from "../../../control-plane/domain/source.ts";

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

const accepted = [
  "https://git.example.com/acme/infra.git",
  "ssh://git@git.example.com/acme/infra",
  "https://acme-production-2024@dev.azure.com/acme/infra",
  "git@git.example.com:acme/infra.git",
  // Runners with WINDLASS_ALLOW_HTTP=1 fetch it.
  "http://git.example.com/acme/infra.git",
];
test.each(accepted)("%s is accepted", (url) => expect(gitUrlProblem(url)).toBeUndefined());

test.each(["git://git.example.com/x.git", "file:///srv/x.git", "https://"])(
  "the refusal of %s names everything that is accepted",
  (url) =>
    expect(gitUrlProblem(url)).toBe(
      "must be https://host/path, ssh://user@host/path or user@host:path, or http://host/path for runners with WINDLASS_ALLOW_HTTP=1",
    ),
);

test.each([
  "https://0123456789abcdef0123456789abcdef01234567@git.example.com/acme/infra",
  "https://glpat-x@git.example.com/acme/infra",
  "https://ada:s3cret@git.example.com/acme/infra",
])("%s is refused and says where a token belongs", (url) =>
  expect(gitUrlProblem(url)).toContain("Set WINDLASS_GIT_CREDENTIALS on the agent instead"),
);
