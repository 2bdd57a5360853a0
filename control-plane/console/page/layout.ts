/** The frame of every page. */
import type { FastifyReply } from "fastify";
import { answerUnread } from "../../http/unread-body.ts";
import type { UserCaller } from "../../services/callers.ts";
import { html, type Html } from "./html.ts";
import { fitToSpace, teamOf } from "./in-space.ts";

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** Who is signed in, if anyone is. */
  readonly email?: string | undefined;
  /** Which entry of the navigation it belongs to. */
  readonly at?: string;
  /**
   * Its parts marked `data-live` are redrawn this often, in seconds; a script may also ask for
   * it.
   */
  readonly refresh?: number;
  /** The address that redraws it, where that is not the one it was sent from: a form's. */
  readonly from?: string;
  readonly search?: string;
}

const places = [
  ["/", "Overview"],
  ["/zones", "Zones"],
  ["/jobs", "Jobs"],
  ["/workers", "Workers"],
  ["/identities", "Identities"],
  ["/variable-sets", "Variable sets"],
  ["/audit", "Audit"],
  ["/settings", "Settings"],
] as const;

/**
 * Sends a page. It runs scripts of this server only, none of them written into it, is never framed,
 * and loads nothing from elsewhere.
 */
export function sendPage(reply: FastifyReply, page: Page, status = 200): void {
  const caller = reply.request.caller as UserCaller | null;
  const isAnswer = reply.request.method === "POST";
  const text = document(page, page.email === undefined ? null : caller, isAnswer).text;
  reply
    .headers({
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      // Not no-referrer: with that, browsers send our own forms with "Origin: null".
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    })
    .type("text/html; charset=utf-8");
  answerUnread(
    reply,
    status,
    caller ? fitToSpace(text, caller, reply.server.pagePermissions) : text,
  );
}

const document = (
  { title, body, email, at, refresh, from, search = "" }: Page,
  caller: UserCaller | null,
  isAnswer: boolean,
): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Windlass</title>
        <link rel="stylesheet" href="/assets/windlass.css" />
        <link rel="icon" href="data:," />
        ${email === undefined ? null : scripts}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="frame">
          <a class="brand" href="/">Windlass</a>
          ${email === undefined ? null : navigation(email, at, search, caller)}
        </header>
        <p class="away-note" role="status">
          The server does not respond. This page may be out of date.
        </p>
        <main
          id="main"
          data-now="${new Date().toISOString()}"
          ${caller === null ? null : html`data-team="${teamOf(caller)}"`}
          ${refresh === undefined ? null : html`data-refresh="${refresh}"`}
          ${from === undefined ? null : html`data-from="${from}"`}
          ${isAnswer ? html`data-answer` : null}
        >
          ${body}
        </main>
        <footer>
          <a href="/docs">API</a>
          ${email === undefined ? null : preferences}
        </footer>
      </body>
    </html> `;

const scripts = html`<script type="module" src="/assets/live.js"></script>
  <script type="module" src="/assets/keys.js"></script>
  <script type="module" src="/assets/forms.js"></script>`;

/** Shown by scripts only: without one, times are in UTC and there are no keys. */
const preferences = html`<label hidden
    >Times
    <select name="times">
      <option value="ago">ago</option>
      <option value="utc">UTC</option>
      <option value="local">your zone</option>
    </select></label
  >
  <button type="button" class="quiet" name="keys" hidden>Keys</button>`;

const navigation = (
  email: string,
  at: string | undefined,
  search: string,
  caller: UserCaller | null,
): Html =>
  html`${caller === null ? null : spaces(caller, at)}
    <nav aria-label="Pages">
      ${places.map(
        ([path, name]) =>
          html`<a href="${path}" ${path === at ? html`aria-current="page"` : null}>${name}</a>`,
      )}
    </nav>
    <form method="get" action="/search" role="search" aria-label="Everything">
      <input
        type="search"
        name="q"
        value="${search}"
        aria-label="Search everything"
        placeholder="Search"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
      />
    </form>
    <form method="post" action="/logout">
      <span class="who" title="${email}">${email}</span> <button class="quiet">Sign out</button>
    </form>`;

/** Where the reader acts, and the ways to their other spaces. */
function spaces(caller: UserCaller, at = "/"): Html {
  const current = teamOf(caller);
  const path = at === "/teams" ? "/" : at;
  const link = (team: string, name: string) =>
    html`<a
      href="${path}?team=${team}"
      ${team === (current ?? "") ? html`aria-current="true"` : null}
      >${name}</a
    >`;
  return html`<details class="spaces">
    <summary aria-label="Space: ${current ?? "Personal"}">${current ?? "Personal"}</summary>
    <div>
      <p class="soft">${caller.email}</p>
      ${caller.spaces.map(({ slug }) => link(slug ?? "", slug ?? "Personal"))}
      <a href="/teams">Teams…</a>
    </div>
  </details>`;
}
