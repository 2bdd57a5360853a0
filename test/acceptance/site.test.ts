/** The pages of docs/ as a static site. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../helpers/project/source-files.ts";

function scratch(): string {
  const place = mkdtempSync(join(tmpdir(), "site-test-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  return place;
}

/** In a process of its own, because the bundler leaves one behind until that ends. */
const buildSite = (...options: string[]) =>
  execa(process.execPath, [join(root, "scripts/site.ts"), ...options], {
    all: true,
    reject: false,
  });

test("the site has every page, a navigation to it, and a search", async () => {
  const out = join(scratch(), "site");
  expect(await buildSite("--out", out)).toMatchObject({ exitCode: 0 });
  const index = readFileSync(join(out, "index.html"), "utf8");
  const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  const wanted = ["commands.md", "CHANGELOG.md", ...pages.filter((name) => name !== "README.md")];
  for (const name of wanted.map((one) => one.replace(/\.md$/, ".html"))) {
    expect(readFileSync(join(out, name), "utf8")).toContain("<h1");
    expect(index).toContain(`href="/${name}"`);
  }
  expect(JSON.parse(readFileSync(join(out, "openapi.json"), "utf8"))).toHaveProperty("openapi");
  const chunks = readdirSync(join(out, "assets/chunks"));
  expect(chunks.filter((name) => name.startsWith("@localSearchIndex"))).toHaveLength(1);
});

test("a link that leads nowhere fails the site", async () => {
  const docs = scratch();
  writeFileSync(join(docs, "README.md"), "# Pages\n\n[a](gone.md)\n");
  const { exitCode, all } = await buildSite("--docs", docs, "--out", join(docs, "site"));
  expect(exitCode).toBe(1);
  expect(all).toContain("Found dead link ./gone in file README.md");
});
