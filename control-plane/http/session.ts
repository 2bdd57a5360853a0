/**
 * The browser's session: a JWT in an HTTP-only cookie, renewed while it is used, and refused as a
 * bearer token. Whether the person may still use this server is checked at each renewal.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { RefusalError } from "../domain/refusal.ts";
import type { Context } from "../services/context.ts";
import type { SignedIn, UserCaller } from "../services/callers.ts";
import { isSecure, readCookie, setCookie } from "./cookies.ts";
import { minute } from "../../common/units.ts";
import { mayStay } from "../services/people/admission.ts";
import { goesOn } from "../services/people/provider-sessions.ts";
import { findCaller, sessionToken } from "../services/people/credentials.ts";
import { secondsOf, verifyToken } from "../services/people/jwt.ts";

const cookieName = "windlass_session";
/** A cookie of this age is renewed. */
const renewMilliseconds = minute;

/** Undefined without a valid cookie. Renews one that is not new. */
export async function findSession(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<UserCaller | undefined> {
  const token = readCookie(context, request, cookieName);
  if (token === undefined) return undefined;
  const claims = await verifyToken(context, "session", token);
  const caller = claims && (await findCaller(context, "session", claims, request));
  if (!caller || claims.iat * 1000 > context.now() - renewMilliseconds) return caller;
  if (!(await goesOn(context, caller.login_id))) return undefined;
  if (!(await mayStay(context, caller.user_id))) return undefined;
  await setSession(context, reply, caller);
  return caller;
}

export async function setSession(
  context: Context,
  reply: FastifyReply,
  person: SignedIn,
): Promise<void> {
  const token = await sessionToken(context, person);
  setCookie(context, reply, cookieName, token, secondsOf.session);
}

export function clearSession(context: Context, reply: FastifyReply): void {
  setCookie(context, reply, cookieName, "", 0);
}

/**
 * Refuses a request of another site: one that changes something, with a cookie that the browser
 * adds by itself, must come from our own pages. They are recognised by `Origin`, or by
 * `Sec-Fetch-Site` if the browser names no origin (it says "null" if it hides it). Throws 403.
 */
export function refuseForeignOrigin(context: Context, { method, headers }: FastifyRequest): void {
  if (method === "GET" || method === "HEAD") return;
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  const isOwn =
    origin === undefined || origin === "null"
      ? site === "same-origin" || site === "none"
      : isOwnOrigin(context, origin, host);
  if (!isOwn) throw new RefusalError("foreign_origin");
}

/** The configured address, and the name of this request, for which the browser sent the cookie. */
export function isOwnOrigin(context: Context, origin: string, host: string | undefined): boolean {
  const url = URL.parse(origin);
  // With https, an unencrypted page of this name is foreign: the network can write it.
  const isSafe = !isSecure(context) || url?.protocol === "https:";
  return isSafe && (url?.host === host || origin === URL.parse(context.publicUrl())?.origin);
}
