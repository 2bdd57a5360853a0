/**
 * Keeps in the browser what a person does at another site: sealed, HTTP-only, for ten minutes, so that
 * only the browser that began it can complete it.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ProviderName } from "../domain/providers.ts";
import type { Context } from "../services/context.ts";
import { readCookie, setCookie } from "./cookies.ts";
import type { Challenge } from "../services/people/oauth-client.ts";

const seconds = 600;

interface SignInFlow extends Challenge {
  readonly provider: ProviderName;
  /** The path to open afterwards. */
  readonly next: string;
  /** The user who was signed in when it began, to whom the account is added. */
  readonly user: string | null;
}

interface AppFlow {
  readonly state: string;
  /** For which user and connection an App is made at GitHub. */
  readonly user: string;
  readonly connection: string;
}

/** `about`: a cookie of one kind cannot stand for another one. */
const flowCookie = <T>(cookieName: string, about: string) => ({
  set(context: Context, reply: FastifyReply, flow: T): void {
    const content = JSON.stringify({ ...flow, expires_at: context.now() + seconds * 1000 });
    const value = context.box("oauth-flow").seal(Buffer.from(content), about).toString("base64url");
    setCookie(context, reply, cookieName, value, seconds);
  },

  /** Returns what this browser began; undefined if it began nothing, or too long ago. */
  find(context: Context, request: FastifyRequest): T | undefined {
    const value = readCookie(context, request, cookieName);
    if (value === undefined) return undefined;
    try {
      const box = Buffer.from(value, "base64url");
      const flow = JSON.parse(context.box("oauth-flow").open(box, about).toString()) as T & {
        readonly expires_at: number;
      };
      return flow.expires_at > context.now() ? flow : undefined;
    } catch {
      // Shortened, changed, or sealed with another key: this browser began nothing here.
      return undefined;
    }
  },

  /** Removes it, because it is completed only once. */
  clear: (context: Context, reply: FastifyReply): void =>
    setCookie(context, reply, cookieName, "", 0),
});

export const signInFlow = flowCookie<SignInFlow>("windlass_oauth", "flow");
export const appFlow = flowCookie<AppFlow>("windlass_app", "app");
