/** Errors of pages, shown as pages. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { problemCodes, type ProblemCode } from "../../protocol/problem.ts";
import { refusalOf } from "../http/problem.ts";
import type { UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { door } from "./page/door.ts";
import { sentence } from "./page/fields.ts";
import { html, type Html } from "./page/html.ts";
import { sendPage } from "./page/layout.ts";
import { copyIcon, copyScript } from "./page/secret.ts";
import { findReader } from "./signed-in.ts";

/** Whether a browser asks for a page. Everything below /api/ is for programs. */
export const asksForPage = ({ method, url, headers }: FastifyRequest): boolean =>
  method === "GET" &&
  !/^\/api(\/|$)/.test(url) &&
  (headers.accept ?? "").toLowerCase().includes("text/html");

/** Sends the page of an error, with the navigation if the user is signed in. */
export async function sendErrorPage(
  context: Context,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { code, message, headers } = refusalOf(error, request);
  const [status, what] = problemCodes[code];
  const title = request.is404 ? "There is no such page" : status === 404 ? "Not found" : what;
  const text = request.is404
    ? `This server has no page ${request.url.split("?")[0]}.`
    : sentence(message);
  // An address without a route has no guard.
  request.caller ??= await findReader(context, request, reply);
  const { email } = (request.caller as UserCaller | null) ?? {};
  const advice = request.is404 ? "Check the address, or search for what you want." : advices[code];
  const body = door(
    {
      ...signOf(status),
      title,
      text: [text === `${title}.` ? "" : text, advice].filter(Boolean).join(" ") || null,
    },
    html`<div class="ways">${waysOn(request, status, email !== undefined)}</div>
      <p class="small">
        ${status} · request
        <code id="request">${request.id}</code> ${copyIcon("request", "Copy the request's number")}
      </p>
      ${copyScript}`,
  );
  sendPage(reply.headers(headers), { title, body, email }, status);
}

/** What to do next, where the message does not say it. */
const advices: Partial<Record<ProblemCode, string>> = {
  not_found: "It may have been deleted, or be in a team that you are not in.",
  foreign_origin: "Nothing was changed. Open the page here, and send its form once more.",
  internal_error:
    "The fault is not yours. Try again; if it stays, give the number below to the operator of this server, whose log says more.",
  unavailable: "Try again in a moment.",
  storage_unavailable: "Try again in a moment.",
};

function signOf(status: number) {
  if (status === 404 || status === 405) return { sign: "search" } as const;
  if (status === 403) return { sign: "lock", tone: "warn" } as const;
  if (isPassing(status)) return { sign: "clock", tone: "warn" } as const;
  return { sign: "triangle-alert", tone: status < 500 ? "warn" : "bad" } as const;
}

/** Whether the same request may succeed later. */
const isPassing = (status: number): boolean => [408, 424, 429, 503].includes(status);

const lists: Readonly<Record<string, string>> = {
  zones: "zones",
  configurations: "zones",
  jobs: "jobs",
  workers: "workers",
  identities: "identities",
  "variable-sets": "variable sets",
  teams: "teams",
};

/** The clearest way on as a button, and another one. */
function waysOn({ method, url, is404 }: FastifyRequest, status: number, isSignedIn: boolean): Html {
  const overview = html`<a class="button quiet" href="/">To the overview</a>`;
  // The address of a form is not a page. Link back to the page with the form.
  if (method === "POST") {
    const back = url.replace(/(\/\d+)?\/[a-z_-]+$/, "");
    return html`<a class="button" href="${back === "" ? "/" : back}">Back to the previous page</a>`;
  }
  // An empty address is the same page.
  if (status >= 500 || isPassing(status))
    return html`<a class="button" href="">Try again</a>${overview}`;
  if (!isSignedIn) return html`<a class="button" href="/login">Sign in</a>`;
  if (is404)
    return html`<a class="button" href="/">To the overview</a>
      <a class="button quiet" href="/search">Search</a>`;
  const list = lists[url.split(/[/?]/)[1] ?? ""];
  return status === 404 && list !== undefined
    ? html`<a class="button" href="/${list.replace(" ", "-")}">All ${list}</a>${overview}`
    : html`<a class="button" href="/">To the overview</a>`;
}
