/** Documents against the repository: whatever a document or a comment names exists. */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFiles, root } from "./helpers/project/source-files.ts";

const files = projectFiles();
const known = new Set(files);
const folders = new Set(files.flatMap((file) => parentsOf(file)));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const documents = new Map(
  files.filter((path) => path.endsWith(".md")).map((path) => [path, read(path)]),
);
const own = "test/documents.test.ts";

function parentsOf(path: string): string[] {
  const parent = posix.dirname(path);
  return parent === "." ? [] : [parent, ...parentsOf(parent)];
}

const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, "");
const headingsOf = (text: string): string[] =>
  [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);

/** The anchor that forges give a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** The comments of a file, or the whole text of a document. */
const proseOf = (path: string, text: string): string =>
  (path.endsWith(".md") ? text : (text.match(comments) ?? []).join("\n"))
    // A name may be broken over two lines of a comment.
    .replaceAll(/\n[ \t]*(?:\*|\/\/|#)?[ \t]*/g, " ");

const comments = /^[ \t]*(?:\/?\*|\/\/|#).*$|(?<=[;,{}] )\/\/ .*$/gm;

/** What a file names and the repository does not have, one readable line each. */
function missing(path: string, text: string): string[] {
  const prose = proseOf(path, text);
  // Messages name documents too. The strings of tests are made up.
  const documented = path.startsWith("test/") ? prose : `${prose} ${text}`;
  const pages = [...documented.matchAll(/(?<![\w./<>*-])((?:[\w.-]+\/)*[\w.-]+\.md)\b/g)]
    .map(([, name = ""]) => name)
    // A build and the site write them.
    .filter((name) => !["commands.md", "index.md"].includes(posix.basename(name)))
    .filter((name) => !known.has(name) && !known.has(posix.join(posix.dirname(path), name)));
  const sections = [...prose.matchAll(/\b(docs\/[\w-]+\.md), "([^"]+)"/g)]
    .filter(([, page = "", name = ""]) => !headingsOf(documents.get(page) ?? "").includes(name))
    .map(([, page, name]) => `${page}, "${name}"`);
  const code = [...prose.matchAll(/(?<![\w./@:*}-])((?:[\w-]+\/)+[\w.-]+\.(?:ts|js))\b(?!\.)/g)]
    .map(([, name = ""]) => name)
    // What a build writes is not in the repository.
    .filter((name) => !name.startsWith("dist/"))
    .filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)));
  return [...new Set([...pages, ...sections, ...code])].map((name) => `${path} names ${name}`);
}

/** Links of a document that lead nowhere. */
function deadLinks(path: string, text: string): string[] {
  const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links
    .filter((link) => !/^https?:/.test(link))
    .filter((link) => {
      const [name = "", anchor] = link.split("#");
      const target = name === "" ? path : posix.join(posix.dirname(path), name);
      if (!known.has(target) && !folders.has(target)) return true;
      if (anchor === undefined) return false;
      return !headingsOf(documents.get(target) ?? "").some(
        (heading) => anchorOf(heading) === anchor,
      );
    })
    .map((link) => `${path} links to ${link}`);
}

describe("documents", () => {
  it("link only to files and headings that exist", () => {
    expect([...documents].flatMap(([path, text]) => deadLinks(path, text))).toEqual([]);
  });

  it("are all linked from docs/README.md, which the README links", () => {
    const index = documents.get("docs/README.md") ?? "";
    const pages = [...documents.keys()].filter((path) =>
      /^(docs\/)?(?!README)[\w-]+\.md$/.test(path),
    );
    const links = pages.map((path) => `](${posix.relative("docs", path)})`);
    expect(links.filter((link) => !index.includes(link))).toEqual([]);
    const readme = documents.get("README.md") ?? "";
    expect(readme).toContain("](docs/README.md)");
    expect(readme.split("\n").length).toBeLessThanOrEqual(101);
  });

  it.each(["The path of a job", "The path of a log line"])(
    "name files that exist: %s",
    (heading) => {
      const chapters = (documents.get("docs/architecture.md") ?? "").split("\n## ");
      const chapter = chapters.find((one) => one.startsWith(`${heading}\n`)) ?? "";
      const named = [...chapter.matchAll(/`([\w./-]+\.\w+)`/g)].map(([, name = ""]) => name);
      expect(named.length).toBeGreaterThan(8);
      expect(named.filter((name) => !known.has(name))).toEqual([]);
    },
  );

  it("show the directories that exist", () => {
    const [, tree = ""] = (documents.get("docs/architecture.md") ?? "").split("```");
    const shown: string[] = [];
    const above: string[] = [];
    for (const [, indent = "", names = ""] of tree.matchAll(/^( *)((?:[\w-]+\/ *)+)/gm)) {
      const depth = indent.length / 2;
      for (const [, name = ""] of names.matchAll(/([\w-]+)\//g)) {
        above.splice(depth, above.length, name);
        shown.push(above.join("/"));
      }
    }
    expect(shown.filter((folder) => !folders.has(folder))).toEqual([]);
    const expected = [...folders].filter((folder) =>
      /^[^./][^/]*$|^agent\/(?:job\/)?[^/]+$|^control-plane\/[^/]+$/.test(folder),
    );
    expect(expected.filter((folder) => !shown.includes(folder))).toEqual([]);
  });

  it("define each word of the glossary once, with directories that exist", () => {
    const rows = [...(documents.get("docs/glossary.md") ?? "").matchAll(/^\| (.+) \|$/gm)]
      .map(([, row = ""]) => row.split(" | "))
      .filter(([word]) => word !== "word" && word !== "---");
    const words = rows.map(([word]) => word);
    expect(words.length).toBeGreaterThan(50);
    expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
    const named = rows.flatMap((row) => [...(row.at(-1) ?? "").matchAll(/`([^`]+)`/g)]);
    expect(named.length).toBeGreaterThanOrEqual(words.length);
    expect(named.map(([, name = ""]) => name).filter((name) => !folders.has(name))).toEqual([]);
  });
});

describe("documents, sections and files that are named in the repository", () => {
  it("exist", () => {
    const texts = files.filter(
      (path) =>
        path !== own &&
        !path.startsWith("samples/") &&
        !/\.(svg|json|pem|gz|zip|png|webp|woff2?)$/.test(path) &&
        path !== "LICENSE",
    );
    expect(texts.flatMap((path) => missing(path, read(path)))).toEqual([]);
  });

  it("are missed when they do not exist", () => {
    expect(missing("agent/a.ts", "/** See decisions.md. */")).toEqual([
      "agent/a.ts names decisions.md",
    ]);
    expect(missing("agent/a.ts", '/** See docs/decisions.md, "No\n * such entry". */')).toEqual([
      'agent/a.ts names docs/decisions.md, "No such entry"',
    ]);
    expect(missing("systemd/a.service", "# test/e2e/gone.test.ts")).toEqual([
      "systemd/a.service names test/e2e/gone.test.ts",
    ]);
    expect(missing("agent/a.ts", '/** docs/decisions.md, "Release"; domain/job.ts */')).toEqual([]);
    expect(deadLinks("docs/a.md", "[a](glossary.md) [b](gone.md) [c](glossary.md#gone)")).toEqual([
      "docs/a.md links to gone.md",
      "docs/a.md links to glossary.md#gone",
    ]);
  });
});
