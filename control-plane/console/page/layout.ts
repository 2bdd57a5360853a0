import { asset, script } from "../assets.ts";
import type { FastifyReply } from "fastify";
import { answerUnread } from "../../http/unread-body.ts";
import type { PagePermissions } from "../page-permissions.ts";
import type { UserCaller } from "../../services/callers.ts";
import { html, type Html } from "./html.ts";
import { icon } from "./icons.ts";
import { fitToSpace, mayOpen, teamOf } from "./in-space.ts";
import { waitingLimit } from "../../services/approvals/waiting.ts";

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** Who is signed in, if anyone is. */
  readonly email?: string | undefined;
  /** Which entry of the navigation it belongs to. */
  readonly at?: string;
  /** Seconds between redraws of `data-live` parts; a script may also ask for one. */
  readonly refresh?: number;
  /** The address that redraws it, where that is not the one it was sent from: a form's. */
  readonly from?: string;
  readonly search?: string;
  /** Default: 200. */
  readonly status?: number;
  /** The origin of another site to which a form of the page is sent. */
  readonly formsTo?: string;
}

const entries = [
  ["/", "Overview", "layout-dashboard"],
  ["/zones", "Zones", "layers"],
  ["/jobs", "Jobs", "list-checks"],
  ["/schedules", "Schedules", "calendar-clock"],
  ["/pull-requests", "Pull requests", "git-pull-request"],
  ["/workers", "Workers", "server"],
  ["/identities", "Identities", "key-round"],
  ["/variable-sets", "Variable sets", "braces"],
  ["/connections", "Connections", "cable"],
  ["/notifications", "Notifications", "bell"],
  ["/audit", "Audit", "scroll-text"],
  ["/settings", "Settings", "settings"],
] as const;

/** The policy allows scripts of this server only, no inline ones, no frames, no other source. */
export function sendPage(reply: FastifyReply, page: Page, status = page.status ?? 200): void {
  const caller = reply.request.caller as UserCaller | null;
  const isAnswer = reply.request.method === "POST";
  const reader = page.email === undefined ? null : caller;
  const { pagePermissions: permissions } = reply.server;
  const { waiting } = reply.request;
  const { text } = document(page, { caller: reader, waiting, permissions }, isAnswer);
  reply
    .headers({
      "content-security-policy": `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; img-src 'self' data:; form-action ${["'self'", ...reply.server.logoutOrigins, page.formsTo].join(" ").trim()}; base-uri 'none'; frame-ancestors 'none'`,
      "x-content-type-options": "nosniff",
      // Not no-referrer: with that, browsers send our own forms with "Origin: null".
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    })
    .type("text/html; charset=utf-8");
  answerUnread(reply, status, caller ? fitToSpace(text, caller, permissions) : text);
}

interface Reader {
  readonly caller: UserCaller | null;
  /** How many deployments wait for the reader's approval, in all their spaces. */
  readonly waiting: number;
  readonly permissions: PagePermissions;
}

const document = (
  { title, body, email, at, refresh, from, search = "" }: Page,
  reader: Reader,
  isAnswer: boolean,
): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Windlass</title>
        <link
          rel="preload"
          as="font"
          type="font/woff2"
          crossorigin
          href="${asset("inter-latin-wght-normal.woff2")}"
        />
        <link rel="stylesheet" href="${asset("windlass.css")}" />
        <link rel="icon" href="${asset("mark.svg")}" type="image/svg+xml" />
        ${email === undefined ? null : scripts}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="frame">
          ${email === undefined ? null : menuButton}
          <a class="brand" href="/">${icon("mark")}Windlass</a>
          ${email === undefined ? html`<a class="api" href="/docs">API</a>` : menu(email, at, search, reader)}
        </header>
        <p class="away-note" role="status">
          The server does not respond. This page may be out of date.
        </p>
        <main
          id="main"
          data-now="${new Date().toISOString()}"
          ${reader.caller === null ? null : html`data-team="${teamOf(reader.caller)}"`}
          ${refresh === undefined ? null : html`data-refresh="${refresh}"`}
          ${from === undefined ? null : html`data-from="${from}"`}
          ${isAnswer ? html`data-answer` : null}
        >
          ${body}
        </main>
      </body>
    </html> `;

const scripts = html`${script("live.js")} ${script("keys.js")} ${script("forms.js")}`;

/** On a narrow screen; a wide one shows the menu at the side. */
const menuButton = html`<button
  type="button"
  class="bar-button"
  popovertarget="menu"
  aria-label="Menu"
>
  ${icon("menu")}
</button>`;

const menu = (
  email: string,
  at: string | undefined,
  search: string,
  { caller, waiting, permissions }: Reader,
): Html =>
  html`<a class="bar-button" href="/search" aria-label="Search">${icon("search")}</a>
    <div class="side" id="menu" popover>
      ${caller === null ? null : spaces(caller, at)}
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
      <nav aria-label="Pages">
        ${entries
          .filter(([path]) => caller === null || mayOpen(caller, permissions, path))
          .map(
            ([path, name, picture]) =>
              html`<a href="${path}" ${path === at ? html`aria-current="page"` : null}
                >${icon(picture)}${name}${path === "/" ? waitingNumber(waiting) : null}</a
              >`,
          )}
      </nav>
      ${account(email)}
    </div>`;

const waitingNumber = (number: number): Html | null =>
  number === 0
    ? null
    : html` <span class="number" title="waiting for your approval"
        >${number > waitingLimit ? `${waitingLimit}+` : number}</span
      >`;

/** The choice of times and the keys need scripts: without one, times are as the server writes them. */
const account = (email: string): Html =>
  html`<details class="account">
    <summary>
      ${icon("circle-user")}<span class="who" title="${email}">${email}</span>
      ${icon("chevrons-up-down")}
    </summary>
    <div>
      <label class="row" hidden
        >Times
        <select name="times">
          <option value="ago">ago</option>
          <option value="utc">UTC</option>
          <option value="local">your zone</option>
        </select></label
      >
      <button type="button" name="keys" hidden>Keys</button>
      <a class="row" href="/docs">API</a>
      <form method="post" action="/logout"><button>Sign out</button></form>
    </div>
  </details>`;

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
    <summary aria-label="Space: ${current ?? "Personal"}">
      <span>${current ?? "Personal"}</span>${icon("chevrons-up-down")}
    </summary>
    <div>
      ${caller.spaces.map(({ slug }) => link(slug ?? "", slug ?? "Personal"))}
      <a href="/teams">Teams…</a>
    </div>
  </details>`;
}

declare module "fastify" {
  interface FastifyRequest {
    /** See `Reader`; of pages that need no session 0. */
    waiting: number;
  }
}
