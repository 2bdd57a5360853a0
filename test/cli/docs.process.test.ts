import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { cliDocument } from "../../scripts/lib/cli-document.ts";
import { root } from "../helpers/source-files.ts";

let document: string;
beforeAll(async () => {
  document = await cliDocument();
});

test("docs/cli.md is what the commands say: else npm run cli-docs", () => {
  expect(readFileSync(join(root, "docs/cli.md"), "utf8")).toBe(document);
});

test("every verb has examples in its help", () => {
  const chapters = document.split(/^#{3,5} (?=windlass)/m).slice(1);
  expect(chapters.length).toBeGreaterThan(50);
  const without = chapters.filter((chapter) => !/^(Examples?|Commands):/m.test(chapter));
  expect(without).toEqual([]);
});

test("no help is wider than a terminal of 80 columns", () => {
  const [, ...helps] = document.split("```text\n");
  const lines = helps.flatMap((help) => (help.split("```")[0] ?? "").split("\n"));
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});
