/** The page that shows the OpenAPI document, drawn by Swagger UI from files of this server. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../../protocol/endpoints.ts";
import { html } from "../page/html.ts";

/** Uses only the files of the package, read on request: its plugin would slow down the start. */
const files = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

/** Scripts and requests are this server's only. Swagger UI writes styles into its elements. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const common = { "x-content-type-options": "nosniff", "referrer-policy": "same-origin" };

export function docsRoutes(app: FastifyInstance): void {
  app.get("/docs", async (_, reply) =>
    reply
      .headers({ ...common, "content-security-policy": policy, "cache-control": "no-cache" })
      .type("text/html; charset=utf-8")
      .send(page.text),
  );
  app.get("/docs/start.js", async (_, reply) =>
    reply.headers(kept).type(files["swagger-ui-bundle.js"]).send(start),
  );
  for (const [name, type] of Object.entries(files))
    app.get(`/docs/${name}`, async (_, reply) =>
      reply
        .headers(kept)
        .type(type)
        .send(await readFile(pathOf(name))),
    );
}

const kept = { ...common, "cache-control": "max-age=3600" };

const pathOf = (name: string): string =>
  fileURLToPath(import.meta.resolve(`@fastify/swagger-ui/static/${name}`));

const start = `window.onload = () => SwaggerUIBundle({
  url: "${endpoints.readOpenapi.path}",
  dom_id: "#document",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

const page = html`<!doctype html>
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>API · Windlass</title>
      <link rel="icon" href="data:," />
      <link rel="stylesheet" href="/docs/swagger-ui.css" />
    </head>
    <body>
      <div id="document"></div>
      <noscript>
        This page needs a script. The document itself is at
        <a href="/openapi.json">/openapi.json</a>.
      </noscript>
      <script src="/docs/swagger-ui-bundle.js"></script>
      <script src="/docs/start.js"></script>
    </body>
  </html> `;
