import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { cliDocument } from "../../scripts/lib/cli-document.ts";
import { root } from "../helpers/source-files.ts";

let document: string;
beforeAll(async () => {
  document = await cliDocument();
});

test("docs/cli.md matches the help of the commands (npm run cli-docs writes it)", () => {
  expect(readFileSync(join(root, "docs/cli.md"), "utf8")).toBe(document);
});

test("the help of every verb has examples", () => {
  const chapters = document.split(/^#{3,5} (?=windlass)/m).slice(1);
  expect(chapters.length).toBeGreaterThan(50);
  const without = chapters.filter((chapter) => !/^(Examples?|Commands):/m.test(chapter));
  expect(without).toEqual([]);
});

test("no help line is wider than 80 columns", () => {
  const [, ...helps] = document.split("```text\n");
  const lines = helps.flatMap((help) => (help.split("```")[0] ?? "").split("\n"));
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});
