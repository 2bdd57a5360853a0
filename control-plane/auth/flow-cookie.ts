/** What the browser keeps while it is at a provider: sealed, HTTP-only, for ten minutes, so that only the browser that left can come back. */
import { parseCookie, stringifySetCookie } from "cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ProviderName } from "../domain/providers.ts";
import type { Context } from "../services/context.ts";
import type { Challenge } from "./oauth-client.ts";

const seconds = 600;

export interface Flow extends Challenge {
  readonly provider: ProviderName;
  /** The path to go on to. */
  readonly next: string;
  /** Who was signed in when it began: the account is added to them. */
  readonly user: string | null;
  readonly expires_at: number;
}

/** Remembers a flow in the browser. */
export function setFlow(context: Context, reply: FastifyReply, flow: Omit<Flow, "expires_at">) {
  const content = JSON.stringify({ ...flow, expires_at: context.now() + seconds * 1000 });
  const value = context.box("oauth-flow").seal(Buffer.from(content), "flow").toString("base64url");
  addCookie(context, reply, value, seconds);
}

/** The flow that this browser began; undefined when it began none, or too long ago. */
export function findFlow(context: Context, { headers }: FastifyRequest): Flow | undefined {
  const value = parseCookie(headers.cookie ?? "")[cookieName(context)];
  if (value === undefined) return undefined;
  try {
    const box = Buffer.from(value, "base64url");
    const flow = JSON.parse(context.box("oauth-flow").open(box, "flow").toString()) as Flow;
    return flow.expires_at > context.now() ? flow : undefined;
  } catch {
    // Cut, changed, or sealed with another key: this browser began nothing here.
    return undefined;
  }
}

/** Forgets it: a flow is finished once. */
export const clearFlow = (context: Context, reply: FastifyReply): void =>
  addCookie(context, reply, "", 0);

const isSecure = ({ publicUrl }: Context): boolean => publicUrl().startsWith("https:");

const cookieName = (context: Context): string =>
  isSecure(context) ? "__Host-windlass_oauth" : "windlass_oauth";

/** Beside the session's cookie, which must be set before: setting that one replaces all others. */
function addCookie(context: Context, reply: FastifyReply, value: string, maxAge: number): void {
  const cookie = stringifySetCookie({
    name: cookieName(context),
    value,
    maxAge,
    path: "/",
    httpOnly: true,
    // Lax: the provider's redirect is a visit from another site.
    sameSite: "lax",
    secure: isSecure(context),
  });
  reply.header("set-cookie", cookie);
}
