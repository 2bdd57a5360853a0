import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cliDocument } from "../../scripts/lib/cli-document.ts";
import { root } from "../helpers/source-files.ts";

test("docs/cli.md is what the commands say: else npm run cli-docs", async () => {
  expect(readFileSync(join(root, "docs/cli.md"), "utf8")).toBe(await cliDocument());
});

test("every verb has examples in its help", async () => {
  const chapters = (await cliDocument()).split(/^#{3,5} (?=windlass)/m).slice(1);
  expect(chapters.length).toBeGreaterThan(50);
  const without = chapters.filter((chapter) => !/^(Examples|Commands):/m.test(chapter));
  expect(without.map((chapter) => chapter.split("\n")[0])).toEqual([
    "windlass server",
    "windlass agent",
  ]);
});

test("no help is wider than a terminal of 80 columns", async () => {
  const [, ...helps] = (await cliDocument()).split("```text\n");
  const lines = helps.flatMap((help) => (help.split("```")[0] ?? "").split("\n"));
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});
