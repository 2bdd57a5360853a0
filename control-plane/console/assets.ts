/** The style sheet, scripts, fonts and icons of the console, all served by this server. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { notFound } from "../domain/refusal.ts";
import { packageFiles } from "./package-files.ts";
import { iconNames } from "./page/icons.ts";

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
    .map((name) => [name, read(join(here, "browser", name))] as const),
];

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

const files = new Map(
  contents.map(([name, content]) => [
    name,
    {
      content,
      type: types[extname(name)]!,
      etag: `"${createHash("sha256").update(content).digest("base64url").slice(0, 16)}"`,
      // A font of another version is as good.
      cache: name.endsWith(".woff2") ? "max-age=604800" : "no-cache",
    },
  ]),
);

/** Browsers revalidate each time, so that an upgrade never mixes old files with new pages. */
export function assetRoutes(pages: FastifyInstance): void {
  pages.get("/assets/:name", async (request, reply) => {
    const file = files.get((request.params as { name: string }).name);
    if (!file) throw notFound("file");
    reply.headers({
      etag: file.etag,
      "cache-control": file.cache,
      "x-content-type-options": "nosniff",
    });
    if (request.headers["if-none-match"] === file.etag) return reply.code(304).send();
    return reply.type(file.type).send(file.content);
  });
}
