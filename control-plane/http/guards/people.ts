/** The guards of signed-in people: a browser session, or a CLI access token. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { RefusalError } from "../../domain/refusal.ts";
import type { Guard } from "../route.ts";
import type { Context } from "../../services/context.ts";
import { findLogin } from "../../store/people/logins.ts";
import type { UserCaller } from "../../services/callers.ts";
import { verifyToken } from "../../services/people/jwt.ts";
import { findSession, refuseForeignOrigin } from "../session.ts";

/** Lets in a browser that is signed in. */
export function sessionGuard(context: Context): Guard<UserCaller> {
  return async (request, reply) => {
    const caller = await callerOfSession(context, request, reply);
    if (!caller) throw new RefusalError("unauthenticated", "sign in first");
    return caller;
  };
}

/** Lets in `Authorization: Bearer <access token>`; without that header a browser's session, as the console calls the same routes. */
export function clientGuard(context: Context): Guard<UserCaller> {
  return async (request, reply) => {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      const caller = await callerOfSession(context, request, reply);
      if (caller) return caller;
    }
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    const claims = token === undefined ? undefined : await verifyToken(context, "access", token);
    const login = claims
      ? await context.store.read.first(findLogin, { id: claims.sid, now: context.now() })
      : undefined;
    if (login?.kind !== "cli")
      throw new RefusalError(
        "unauthenticated",
        authorization === undefined
          ? "send Authorization: Bearer with an access token"
          : "the access token is wrong, expired or revoked",
        {},
        { "www-authenticate": "Bearer" },
      );
    return {
      user_id: login.user_id,
      email: login.email,
      login_id: login.id,
      login_kind: "cli",
      origin: request,
    };
  };
}

async function callerOfSession(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const caller = await findSession(context, request, reply);
  if (caller) refuseForeignOrigin(context, request);
  return caller;
}
