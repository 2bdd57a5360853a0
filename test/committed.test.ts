import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFiles, root } from "./helpers/project/source-files.ts";

/** Text that a file must not contain, because it is valid on one machine only. */
const localText: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a path of one machine", /(?<![\w.$}~-])\/(?:root|work|Users|home)\/\w/],
  [
    "the host of a package registry",
    /\b(?:registry\.(?:npmjs|yarnpkg|npmmirror)|npm\.pkg\.|unpkg\.com|artifactory|verdaccio|packages\.\w+\.(?:internal|corp))/i,
  ],
];

const found = (path: string, text: string): string[] =>
  text
    .split("\n")
    .flatMap((line, index) =>
      localText
        .filter(([, pattern]) => pattern.test(line))
        .map(([what]) => `${path}:${index + 1} names ${what}: ${line.trim().slice(0, 120)}`),
    );

describe("the repository", () => {
  it("names no path of one machine and no package registry", () => {
    const own = "test/committed.test.ts";
    const files = projectFiles().filter((path) => path !== own);
    expect(files.flatMap((path) => found(path, readFileSync(join(root, path), "utf8")))).toEqual(
      [],
    );
  });

  it("is searched for local paths and registries, but not for similar text", () => {
    expect(found("x", `const a = "/home/ada/checkout";`)).toHaveLength(1);
    expect(found("x", `"resolved": "https://registry.npmjs.org/a"`)).toHaveLength(1);
    expect(
      found("x", `join(homedir(), "work/x"), "\${dir}/work/x", "https://example.test/home/"`),
    ).toEqual([]);
  });

  it("locks every package by its digest, without an address", () => {
    const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
      packages: Record<string, { resolved?: string; integrity?: string }>;
    };
    const entries = Object.entries(lock.packages).filter(([path]) => path !== "");
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(entries.filter(([, { integrity }]) => integrity === undefined)).toEqual([]);
  });

  it("has a reason for every dependency in docs/dependencies.md", () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
      devDependencies: Record<string, string>;
    };
    const wanted = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
    const reasons = readFileSync(join(root, "docs/dependencies.md"), "utf8");
    const given = [...reasons.matchAll(/^\| `([^`]+)` +\| +\S.{10,}\|$/gm)].map(([, name]) => name);
    expect(new Set(given)).toEqual(new Set(wanted));
    expect(given).toHaveLength(wanted.length);
  });
});
