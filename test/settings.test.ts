/** docs/settings.md and `--help` against the registry of settings. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig as readAgentConfig } from "../agent/config.ts";
import { readClientSettings } from "../cli/config.ts";
import { registry } from "../common/settings/registry.ts";
import { readConfig as readServerConfig } from "../control-plane/config.ts";
import { settingsDocument } from "../scripts/lib/settings-document.ts";
import { root } from "./helpers/project/source-files.ts";

const page = readFileSync(join(root, "docs/settings.md"), "utf8");

test("docs/settings.md has the tables of the registry (npm run settings-docs writes them)", () => {
  expect(settingsDocument(page)).toBe(page);
});

test("docs/settings.md keeps the headings that comments name", () => {
  for (const heading of ["The control plane", "The agent", "The client"])
    expect(page).toContain(`\n## ${heading}\n`);
});

test.each([
  ["server", ["control-plane/config.ts", "control-plane/provider-settings.ts"]],
  ["agent", ["agent/config.ts"]],
  ["client", ["cli/config.ts"]],
] as const)("every setting that the %s declares is read in %s", (role, files) => {
  const code = files.map((file) => readFileSync(join(root, file), "utf8")).join("");
  // Of several OpenID Connect providers.
  const repeated = [...code.matchAll(/read\(`\$\{name\}_(\w+)`\)/g)].map(([, one]) => one);
  const own = registry[role]
    .flatMap(({ settings }) => Object.keys(settings))
    .filter((name) => /^(WINDLASS|CLI|RELEASE)_/.test(name));
  expect(own.length).toBeGreaterThan(2);
  const isRead = (name: string) =>
    code.includes(`read("${name}")`) || repeated.some((one) => name === `WINDLASS_OIDC_${one}`);
  expect(own.filter((name) => !isRead(name))).toEqual([]);
});

const strictTypes = new Set(["url", "boolean", "enum", "integer", "number", "size", "retention"]);

test.each([
  ["server", readServerConfig],
  ["agent", readAgentConfig],
  ["client", readClientSettings],
] as const)(
  "a wrong value of any setting of the %s is refused, even if it has no effect",
  (role, readSettings) => {
    const names = registry[role]
      .flatMap(({ settings }) => Object.entries(settings))
      .filter(([, { type }]) => strictTypes.has(type))
      .map(([name]) => name);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names)
      expect(() =>
        readSettings({ WINDLASS_URL: "https://windlass.example.com", [name]: "wrong" }),
      ).toThrow(`${name} must be`);
  },
);

test("the texts of the registry are one line in the form of a table cell", () => {
  const texts = Object.values(registry)
    .flat()
    .flatMap(({ settings }) => Object.entries(settings))
    .flatMap(([name, { help, details = "" }]) => [`${name}: ${help}`, `${name}: ${details}`]);
  expect(texts.length).toBeGreaterThan(150);
  expect(texts.filter((text) => /[\n|]|\.$|: $^/.test(text))).toEqual([]);
});
