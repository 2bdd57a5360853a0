/**
 * Keeps the state of a sign-in in the browser while the user is at the provider: sealed, HTTP-only,
 * for ten minutes, so that only the browser that began the sign-in can complete it.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ProviderName } from "../domain/providers.ts";
import type { Context } from "../services/context.ts";
import { readCookie, setCookie } from "./cookies.ts";
import type { Challenge } from "../services/people/oauth-client.ts";

const cookieName = "windlass_oauth";
const seconds = 600;

export interface Flow extends Challenge {
  readonly provider: ProviderName;
  /** The path to open afterwards. */
  readonly next: string;
  /** The user who was signed in when it began, to whom the account is added. */
  readonly user: string | null;
  readonly expires_at: number;
}

export function setFlow(context: Context, reply: FastifyReply, flow: Omit<Flow, "expires_at">) {
  const content = JSON.stringify({ ...flow, expires_at: context.now() + seconds * 1000 });
  const value = context.box("oauth-flow").seal(Buffer.from(content), "flow").toString("base64url");
  setCookie(context, reply, cookieName, value, seconds);
}

/** Returns the sign-in that this browser began; undefined if it began none, or too long ago. */
export function findFlow(context: Context, request: FastifyRequest): Flow | undefined {
  const value = readCookie(context, request, cookieName);
  if (value === undefined) return undefined;
  try {
    const box = Buffer.from(value, "base64url");
    const flow = JSON.parse(context.box("oauth-flow").open(box, "flow").toString()) as Flow;
    return flow.expires_at > context.now() ? flow : undefined;
  } catch {
    // Shortened, changed, or sealed with another key: this browser began no sign-in here.
    return undefined;
  }
}

/** Removes it, because a sign-in is completed only once. */
export const clearFlow = (context: Context, reply: FastifyReply): void =>
  setCookie(context, reply, cookieName, "", 0);
