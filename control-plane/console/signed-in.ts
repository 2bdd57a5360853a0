import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { checkPermission } from "../domain/roles.ts";
import type { UserCaller } from "../services/callers.ts";
import { actingFor } from "../http/acting.ts";
import { countWaitingFor } from "../services/approvals/waiting.ts";
import { onBehalfOf } from "../services/on-behalf-of.ts";
import { findSession, refuseForeignOrigin } from "../http/session.ts";
import type { Context } from "../services/context.ts";
import { isInZones, type Needs } from "./page-permissions.ts";
import { pageWithForms, type AddRoute, type PageForms, type PageWithForms } from "./page-forms.ts";
import { sendPage } from "./page/layout.ts";
import { signInOf } from "./people/next.ts";
import { answerUnread } from "../http/unread-body.ts";

export interface SignedIn {
  readonly get: AddRoute;
  readonly post: AddRoute;
  page<T>(url: string, needs: Needs, page: PageWithForms<T>): PageForms<T>;
}

/** Without a session, answers 303 to the sign-in with the way back, before the body is read. */
export function signedInRoutes(pages: FastifyInstance, context: Context): SignedIn {
  const add = (
    method: "GET" | "POST",
    ...[url, needs, handler, { permission: other, ...options } = {}]: Parameters<AddRoute>
  ) => {
    const permission = pages.pagePermissions.add(method, url, needs, other);
    pages.route({
      method,
      url,
      ...options,
      config: { inZones: isInZones(needs) },
      onRequest: async (request, reply) => {
        const params = request.params as { id?: string };
        // Ids are stored in lower case.
        if (params.id !== undefined) params.id = params.id.toLowerCase();
        const caller = await findSession(context, request, reply);
        if (caller) {
          refuseForeignOrigin(context, request);
          // Also for the page of a refusal.
          request.caller = caller;
          const acting = await actingFor(context, request, caller);
          request.caller = acting;
          checkPermission(acting, permission);
          return;
        }
        reply.header("location", signInOf(context, request));
        answerUnread(reply, 303, "");
        return reply;
      },
      handler: async (request, reply) => {
        const caller = request.caller as UserCaller;
        const outcome = await onBehalfOf(caller, async () => {
          const result = await handler(caller, request, reply);
          if (typeof result === "object") request.waiting = await countWaitingFor(context, caller);
          return result;
        });
        if (typeof outcome === "string") reply.redirect(outcome, 303);
        else if (outcome) sendPage(reply, { ...outcome, email: caller.email });
        return reply;
      },
    });
  };
  const get: AddRoute = (...route) => add("GET", ...route);
  const post: AddRoute = (...route) => add("POST", ...route);
  return {
    get,
    post,
    page: (url, needs, page) => pageWithForms(get, post, url, needs, page),
  };
}

/** In the team of the address if the user is a member; null without a session. */
export async function findReader(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<UserCaller | null> {
  // The page is shown even if the store fails.
  const caller = await findSession(context, request, reply).catch(() => undefined);
  return caller ? actingFor(context, request, caller).catch(() => caller) : null;
}
