/** The style sheet, scripts, fonts and icons of the console, all served by this server. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { notFound } from "../domain/refusal.ts";
import { packageFiles } from "./package-files.ts";
import { html, type Html } from "./page/html.ts";
import { iconNames } from "./page/icon-names.ts";

const here = import.meta.dirname;

/** A file of a package: a build has a copy beside this one. */
function packagePath(name: string): string {
  const copy = join(here, "files", basename(name));
  return existsSync(copy) ? copy : fileURLToPath(import.meta.resolve(name));
}

const read = (...paths: string[]): Buffer => Buffer.concat(paths.map((path) => readFileSync(path)));

const markPath = join(here, "mark.svg");

/** One file with each icon as a symbol, by its name. */
function icons(): Buffer {
  const symbols = [
    ...iconNames.map((name) => [name, packagePath(`lucide-static/icons/${name}.svg`)] as const),
    ["mark", markPath] as const,
  ].map(([name, path]) => {
    const svg = readFileSync(path, "utf8");
    const box = /viewBox="([^"]+)"/.exec(svg)![1]!;
    const shapes = svg
      .replace(/^[^]*?<svg[^>]*>/, "")
      .replace(/<style>[^]*?<\/style>/, "")
      .replace("</svg>", "");
    return `<symbol id="${name}" viewBox="${box}" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">${shapes}</symbol>`;
  });
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>`);
}

/** What every page has, then the rules of each page, which lie beside it. */
const shared = ["tokens.css", "shell.css", "windlass.css"];
const sheets = [
  ...shared,
  ...readdirSync(here, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".css") && !shared.includes(path))
    .toSorted(),
].map((path) => join(here, path));

const contents: readonly (readonly [name: string, content: Buffer])[] = [
  ["windlass.css", read(...sheets)],
  ["icons.svg", icons()],
  ["mark.svg", read(markPath)],
  ["ansi-sequence-parser.js", read(fileURLToPath(import.meta.resolve("ansi-sequence-parser")))],
  ...packageFiles
    .filter((name) => name.endsWith(".woff2"))
    .map((name) => [basename(name), read(packagePath(name))] as const),
  ...readdirSync(join(here, "browser"))
    .filter((name) => name.endsWith(".js"))
    .map((name) => {
      const script = readFileSync(join(here, "browser", name), "utf8");
      // A browser finds no package by its name.
      const served = script.replace('"ansi-sequence-parser"', '"./ansi-sequence-parser.js"');
      return [name, Buffer.from(served)] as const;
    }),
];

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Its address changes with it: browsers need not ask again, which costs each file a round trip. */
const immutable = "public, max-age=31536000, immutable";

const files = new Map(contents);

/** Of all files together: they import each other, and an upgrade must not mix old with new. */
const version = contents
  .reduce((hash, [name, content]) => hash.update(name).update(content), createHash("sha256"))
  .digest("base64url")
  .slice(0, 10);

/** The address of a file of the console. */
export const asset = (name: string): string => `/assets/${version}/${name}`;

const scripts = new Map(
  [...files.keys()].filter((name) => name.endsWith(".js")).map((name) => [name, scriptOf(name)]),
);

/** Runs a script of the console when the page was read. The browser fetches what it imports at once. */
export const script = (name: string): Html => scripts.get(name)!;

function scriptOf(name: string): Html {
  return html`${[...importsOf(name)].map((one) => html`<link rel="modulepreload" href="${asset(one)}" />`)}
    <script type="module" src="${asset(name)}"></script>`;
}

function importsOf(name: string, found = new Set<string>()): Set<string> {
  for (const [, one] of files
    .get(name)!
    .toString()
    .matchAll(/from "\.\/([\w-]+\.js)"/g))
    if (!found.has(one!)) importsOf(one!, found.add(one!));
  return found;
}

export function assetRoutes(pages: FastifyInstance): void {
  pages.get("/assets/:version/:name", async (request, reply) => {
    const asked = request.params as { version: string; name: string };
    const content = files.get(asked.name);
    if (!content) throw notFound("file");
    return (
      reply
        // The page of another release of a server beside this one gets a file that it may use once.
        .header("cache-control", asked.version === version ? immutable : "no-store")
        .header("x-content-type-options", "nosniff")
        .type(types[extname(asked.name)]!)
        .send(content)
    );
  });
}
