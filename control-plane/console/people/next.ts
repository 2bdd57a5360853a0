/** The page to return to after a sign-in. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { readCookie, setCookie } from "../../http/cookies.ts";
import { isOwnOrigin } from "../../http/session.ts";
import type { Context } from "../../services/context.ts";

/** A one-time link comes from the operator and names no page, so the browser keeps it. */
const cookieName = "windlass_next";
const seconds = 3600;

/** Returns a path of this site only. To browsers, `/\\host` and `/<tab>/host` are other sites. */
export function nextOf(query: unknown): string | undefined {
  const { next } = query as { next?: unknown };
  if (typeof next !== "string" || next.length > 1000 || !next.startsWith("/")) return undefined;
  const here = "http://here.invalid";
  const url = URL.parse(next, here);
  // `/.//host` becomes `//host`, which is another site once more.
  return url?.origin === here && !url.pathname.startsWith("//")
    ? `${url.pathname}${url.search}`
    : undefined;
}

/** The sign-in with the way back. `unsent`: it says that the form changed nothing. */
export function signInOf(context: Context, { method, url, headers }: FastifyRequest): string {
  if (method !== "POST") return `/login?next=${encodeURIComponent(url)}`;
  const from = URL.parse(headers.referer ?? "");
  if (from === null || url === "/logout") return "/login";
  if (!isOwnOrigin(context, from.origin, headers.host)) return "/login";
  return `/login?next=${encodeURIComponent(`${from.pathname}${from.search}`)}&unsent`;
}

/** Remembers the page in the browser, or forgets an earlier one. */
export function keepNext(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | undefined,
): void {
  if (next !== undefined) setCookie(context, reply, cookieName, next, seconds);
  else if (readCookie(context, request, cookieName) !== undefined)
    setCookie(context, reply, cookieName, "", 0);
}

/** Returns the remembered page and forgets it; without one, the overview. */
export function takeNext(context: Context, request: FastifyRequest, reply: FastifyReply): string {
  const next = nextOf({ next: readCookie(context, request, cookieName) });
  keepNext(context, request, reply, undefined);
  return next ?? "/";
}
