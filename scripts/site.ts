/**
 * `npm run site [-- --out DIR]`: writes the pages of docs/ as a static site to site/, with the
 * generated reference, the changelog and CONTRIBUTING.md. Fails if a page links to one that does not
 * exist.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, type DefaultTheme, type UserConfig } from "vitepress";
import { writeReference } from "./lib/reference.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(root, "site") },
    docs: { type: "string", default: join(root, "docs") },
  },
});

const site: UserConfig = {
  title: "Windlass",
  description: "Runs Terraform and OpenTofu for teams",
  lang: "en",
  rewrites: { "README.md": "index.md" },
  lastUpdated: false,
};

/** The site has no files of the source, which pages link to: there, their links are plain text. */
const linked = (page: string): string =>
  page
    .replaceAll(/\]\(\.\.\/(?=CHANGELOG|CONTRIBUTING)/g, "](")
    .replaceAll(/\]\(docs\//g, "](")
    .replaceAll(/\[((?:[^[\]]|\[[^\]]*\])*)\]\((?:\.\.\/|test\/|LICENSE)[^)]*\)/g, "$1");

/** The navigation is what docs/README.md lists. */
function themeOf(place: string): DefaultTheme.Config {
  const [, ...groups] = readFileSync(join(place, "README.md"), "utf8").split("\n## ");
  const sidebar = groups.map((group) => ({
    text: group.split("\n")[0] ?? "",
    items: [...group.matchAll(/^- \[(.+?)\]\((.+?)\.md\)/gm)].map(([, text = "", name]) => ({
      text: text.replaceAll("`", ""),
      link: `/${name}`,
    })),
  }));
  sidebar.push({ text: "Reference", items: [{ text: "All commands", link: "/commands" }] });
  return {
    search: { provider: "local" },
    sidebar,
    nav: [{ text: "OpenAPI", link: "/openapi.json", target: "_blank" }],
    outline: [2, 3],
  };
}

async function buildSite(docs: string, out: string): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), "windlass-site-"));
  try {
    cpSync(docs, place, { recursive: true });
    for (const name of ["CHANGELOG.md", "CONTRIBUTING.md"])
      cpSync(join(root, name), join(place, name));
    mkdirSync(join(place, "public"));
    await writeReference(place);
    cpSync(join(place, "openapi.json"), join(place, "public/openapi.json"));
    for (const name of readdirSync(place).filter((one) => one.endsWith(".md")))
      writeFileSync(join(place, name), linked(readFileSync(join(place, name), "utf8")));
    symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
    mkdirSync(join(place, ".vitepress"));
    const config: UserConfig = { ...site, outDir: out, themeConfig: themeOf(place) };
    writeFileSync(
      join(place, ".vitepress/config.mjs"),
      `export default ${JSON.stringify(config)};\n`,
    );
    await build(place);
  } finally {
    rmSync(place, { recursive: true });
  }
}

await buildSite(values.docs, values.out);
