/** Routes of pages that need a session. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { UserCaller } from "../auth/callers.ts";
import { findSession, refuseForeignOrigin } from "../auth/session.ts";
import type { Context } from "../services/context.ts";

export type PageHandler = (
  caller: UserCaller,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<void>;

/** Adds one route; its handler sends the page, or redirects. */
export type SignedIn = (
  method: "GET" | "POST",
  url: string,
  handler: PageHandler,
  options?: { readonly bodyLimit?: number },
) => void;

/** Makes the function that adds such routes: without a session a page answers 303 to the sign-in, with the way back. */
export function signedInRoutes(pages: FastifyInstance, context: Context): SignedIn {
  return (method, url, handler, options = {}) => {
    pages.route({
      method,
      url,
      ...options,
      handler: async (request, reply) => {
        const caller = await findSession(context, request, reply);
        if (!caller) {
          // Only an address that can be opened again is worth coming back to.
          const next = request.method === "GET" ? `?next=${encodeURIComponent(request.url)}` : "";
          return reply.redirect(`/login${next}`, 303);
        }
        refuseForeignOrigin(context, request);
        await handler(caller, request, reply);
        return reply;
      },
    });
  };
}
