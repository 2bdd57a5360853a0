/** What the browser keeps while it is at a provider: sealed, HTTP-only, for ten minutes, so that only the browser that left can come back. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ProviderName } from "../domain/providers.ts";
import type { Context } from "../services/context.ts";
import { readCookie, setCookie } from "./cookies.ts";
import type { Challenge } from "../services/people/oauth-client.ts";

const cookieName = "windlass_oauth";
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
  setCookie(context, reply, cookieName, value, seconds);
}

/** The flow that this browser began; undefined when it began none, or too long ago. */
export function findFlow(context: Context, request: FastifyRequest): Flow | undefined {
  const value = readCookie(context, request, cookieName);
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
  setCookie(context, reply, cookieName, "", 0);
