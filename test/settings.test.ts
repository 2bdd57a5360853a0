/** docs/settings.md and `--help` against the registry of settings. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { registry } from "../common/settings/registry.ts";
import { settingsDocument } from "../scripts/lib/settings-document.ts";
import { root } from "./helpers/source-files.ts";

const page = readFileSync(join(root, "docs/settings.md"), "utf8");

test("docs/settings.md has the tables of the registry: else npm run settings-docs", () => {
  expect(settingsDocument(page)).toBe(page);
});

test("docs/settings.md keeps the headings that comments name", () => {
  for (const heading of ["The control plane", "The agent", "The client"])
    expect(page).toContain(`\n## ${heading}\n`);
});

test("the texts of the registry are one line in the form of a table cell", () => {
  const texts = Object.values(registry)
    .flat()
    .flatMap(({ settings }) => Object.entries(settings))
    .flatMap(([name, { help, details = "" }]) => [`${name}: ${help}`, `${name}: ${details}`]);
  expect(texts.length).toBeGreaterThan(150);
  expect(texts.filter((text) => /[\n|]|\.$|: $^/.test(text))).toEqual([]);
});
