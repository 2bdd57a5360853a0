/** The style sheet and the scripts of the console, all served by this server. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { notFound } from "../domain/refusal.ts";

const here = import.meta.dirname;

const paths: readonly (readonly [name: string, path: string])[] = [
  ["windlass.css", join(here, "windlass.css")],
  ["ansi-sequence-parser.js", fileURLToPath(import.meta.resolve("ansi-sequence-parser"))],
  ...readdirSync(join(here, "browser"))
    .filter((name) => name.endsWith(".js"))
    .map((name) => [name, join(here, "browser", name)] as const),
];

const files = new Map(
  paths.map(([name, path]) => {
    const content = readFileSync(path);
    const type = path.endsWith(".css") ? "text/css" : "text/javascript";
    return [
      name,
      {
        content,
        type,
        etag: `"${createHash("sha256").update(content).digest("base64url").slice(0, 16)}"`,
      },
    ] as const;
  }),
);

/**
 * Adds `/assets/{name}`. Browsers ask each time whether theirs is still the one: an upgrade never
 * mixes old files with new pages.
 */
export function assetRoutes(pages: FastifyInstance): void {
  pages.get("/assets/:name", async (request, reply) => {
    const file = files.get((request.params as { name: string }).name);
    if (!file) throw notFound("file");
    reply.headers({
      etag: file.etag,
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
    });
    if (request.headers["if-none-match"] === file.etag) return reply.code(304).send();
    return reply.type(`${file.type}; charset=utf-8`).send(file.content);
  });
}
