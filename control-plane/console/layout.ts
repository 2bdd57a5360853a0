/** The frame of every page. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyReply } from "fastify";
import { html, type Html } from "./html.ts";

/** The one style sheet, served from the server itself: a page needs no other network. */
export const styles = readFileSync(join(import.meta.dirname, "windlass.css"), "utf8");

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** Who is signed in. */
  readonly email?: string;
}

/** Sends a page. Nothing of it may run a script, be framed, or load anything from elsewhere. */
export function sendPage(reply: FastifyReply, { title, body, email }: Page, status = 200): void {
  reply
    .code(status)
    .headers({
      "content-security-policy":
        "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      // Not no-referrer: with that, browsers send our own forms with "Origin: null".
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    })
    .type("text/html; charset=utf-8")
    .send(document(title, body, email).text);
}

const document = (title: string, body: Html, email: string | undefined): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Windlass</title>
        <link rel="stylesheet" href="/assets/windlass.css" />
        <link rel="icon" href="data:," />
      </head>
      <body>
        <header>
          <a class="brand" href="/">Windlass</a>
          ${
            email === undefined
              ? null
              : html`<form method="post" action="/logout">
                  <span>${email}</span> <button class="quiet">Sign out</button>
                </form>`
          }
        </header>
        <main>${body}</main>
        <footer><a href="/docs">API</a></footer>
      </body>
    </html> `;
