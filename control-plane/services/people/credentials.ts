/** The credentials of signed-in users: the session of a browser, the access token of a client. */
import { includesAccess } from "../../domain/roles.ts";
import { findLogin } from "../../store/people/logins.ts";
import { spaceOf, type Origin, type SignedIn, type UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findSpaces, spacesOf } from "./caller-spaces.ts";
import { signToken, verifyToken, type Claims } from "./jwt.ts";

const tokenTypes = { session: "session", cli: "access" } as const;

/** Undefined unless it is a valid token of a login of this kind that has not ended. */
export async function findSignedIn(
  context: Pick<Context, "store" | "jwtSecret" | "now">,
  kind: keyof typeof tokenTypes,
  token: string,
  origin: Origin,
): Promise<UserCaller | undefined> {
  const claims = await verifyToken(context, tokenTypes[kind], token);
  return claims && findCaller(context, kind, claims, origin);
}

export async function findCaller(
  context: Pick<Context, "store" | "now">,
  kind: keyof typeof tokenTypes,
  claims: Claims,
  origin: Origin,
): Promise<UserCaller | undefined> {
  const rows = await context.store.read.all(findLogin, { id: claims.sid, now: context.now() });
  const [login] = rows;
  if (login?.kind !== kind) return undefined;
  const { user_id, email, id: login_id } = login;
  // Acts as admin of the personal space, unless the request says otherwise (http/acting.ts).
  const spaces = spacesOf(user_id, rows);
  return {
    user_id,
    email,
    login_id,
    login_kind: kind,
    space_id: user_id,
    role: "admin",
    spaces,
    origin,
  };
}

/** Whether the login or access token of a caller still permits what it did in its space. */
export async function isLive(
  { store: { read }, now }: Pick<Context, "store" | "now">,
  caller: UserCaller,
): Promise<boolean> {
  const spaces = await findSpaces(read, caller, now());
  const space = spaces && spaceOf({ ...caller, spaces });
  const admitted = spaceOf(caller);
  return space !== undefined && (admitted === undefined || includesAccess(space, admitted));
}

export const sessionToken = (
  context: Pick<Context, "jwtSecret" | "now">,
  { user_id: sub, email, login_id: sid }: SignedIn,
): Promise<string> => signToken(context, "session", { sub, email, sid, jti: sid });
