/** The credentials of signed-in users: the session of a browser, the access token of a client. */
import { findLogin, type LoginOfTeam } from "../../store/people/logins.ts";
import type { Origin, SignedIn, Space, UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { isLiveAccessToken } from "./access-tokens.ts";
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
  const own = { space_id: user_id, slug: null, role: "admin" } as const;
  const spaces = [own, ...rows.flatMap((row) => teamOf(row) ?? [])];
  return { user_id, email, login_id, login_kind: kind, ...own, spaces, origin };
}

/** Whether the login or access token of a caller still works in the space in which it acts. */
export async function isLive(
  context: Pick<Context, "store" | "now">,
  { login_kind, login_id: id, user_id, space_id }: UserCaller,
): Promise<boolean> {
  if (login_kind === "token") return isLiveAccessToken(context, id);
  const rows = await context.store.read.all(findLogin, { id, now: context.now() });
  return rows.some((row) => space_id === user_id || row.team_id === space_id);
}

const teamOf = ({ team_id, team_slug, team_role }: LoginOfTeam): Space | undefined =>
  team_id === null || team_role === null
    ? undefined
    : { space_id: team_id, slug: team_slug, role: team_role };

export const sessionToken = (
  context: Pick<Context, "jwtSecret" | "now">,
  { user_id: sub, email, login_id: sid }: SignedIn,
): Promise<string> => signToken(context, "session", { sub, email, sid, jti: sid });
