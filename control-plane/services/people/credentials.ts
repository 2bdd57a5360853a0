/** The credentials of signed-in users: the session of a browser, the access token of a client. */
import { findLogin } from "../../store/people/logins.ts";
import type { Origin, SignedIn, UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { isLiveAccessToken } from "./access-tokens.ts";
import { signToken, verifyToken } from "./jwt.ts";

const tokenTypes = { session: "session", cli: "access" } as const;

/**
 * Returns the user of this token; undefined unless it is a valid token of a login of this kind that
 * has not ended.
 */
export async function findSignedIn(
  context: Pick<Context, "store" | "jwtSecret" | "now">,
  kind: keyof typeof tokenTypes,
  token: string,
  origin: Origin,
): Promise<UserCaller | undefined> {
  const claims = await verifyToken(context, tokenTypes[kind], token);
  if (!claims) return undefined;
  const login = await context.store.read.first(findLogin, { id: claims.sid, now: context.now() });
  if (login?.kind !== kind) return undefined;
  const { user_id, email, id: login_id } = login;
  // A person acts in their personal space, of which they are the admin.
  const inOwnSpace = { space_id: user_id, role: "admin" } as const;
  return { user_id, email, login_id, login_kind: kind, ...inOwnSpace, origin };
}

/** Whether the login or access token of a caller still works. */
export async function isLive(
  context: Pick<Context, "store" | "now">,
  { login_kind, login_id: id }: UserCaller,
): Promise<boolean> {
  if (login_kind === "token") return isLiveAccessToken(context, id);
  return (await context.store.read.first(findLogin, { id, now: context.now() })) !== undefined;
}

/** Signs the token of a browser's session. */
export const sessionToken = (
  context: Pick<Context, "jwtSecret" | "now">,
  { user_id: sub, email, login_id: sid }: SignedIn,
): Promise<string> => signToken(context, "session", { sub, email, sid, jti: sid });
