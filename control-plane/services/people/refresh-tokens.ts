/** The refresh of a CLI login: each time, whether the person may still use this server is checked. */
import { randomUUID } from "node:crypto";
import type { TokenPair } from "../../../protocol/auth.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { findFamily, revokeLogin, rotateFamily, type LoginRow } from "../../store/people/logins.ts";
import { person, record } from "../audit/audit.ts";
import type { Origin } from "../callers.ts";
import type { Context } from "../context.ts";
import { mayStay } from "./admission.ts";
import { goesOn } from "./provider-sessions.ts";
import { secondsOf, verifyEndedToken } from "./jwt.ts";
import { tokenPair } from "./logins.ts";

/** A previous token used within this time means two concurrent commands, not a theft. */
const raceMilliseconds = 10_000;
/** Each token works once; a later reuse, or a person without permission, ends the login. */
export async function refreshTokens(
  context: Context,
  token: string,
  origin: Origin,
): Promise<TokenPair> {
  const claims = await verifyEndedToken(context, "refresh", token);
  if (!claims) throw new RefusalError("invalid_refresh_token");
  const { sid, exp } = claims;
  const current = await context.store.read.first(findFamily, { id: sid });
  const isLive = current?.revoked_at === null && current.expires_at > context.now();
  if (
    isLive &&
    exp * 1000 > context.now() &&
    !((await goesOn(context, sid)) && (await mayStay(context, current.user_id)))
  )
    throw new RefusalError("invalid_refresh_token");
  const next = randomUUID();
  // The end of the login must be recorded, so the refusal is thrown after the commit.
  const family = await context.store.write(async (tx) => {
    const now = context.now();
    const id = sid;
    const expires_at = now + secondsOf.refresh * 1000;
    const isRotated =
      exp * 1000 > now &&
      (await tx.first(rotateFamily, { id, next, previous: claims.jti, now, expires_at }));
    const login = await tx.first(findFamily, { id });
    if (isRotated) return login;
    if (login && isReuse(login, claims.jti, now) && (await tx.first(revokeLogin, { id, now }))) {
      const { user_id: owner, email, kind } = login;
      const by = person({ email, login_id: id, login_kind: kind, origin });
      const details = { reason: "refresh_token_reused" };
      await record(tx, { by, owner, action: "login.revoke", id, name: kind, details }, now);
    }
    return undefined;
  });
  if (!family) {
    // Perhaps a reuse, which ended the login.
    context.wakeups.notify("login", sid);
    throw new RefusalError("invalid_refresh_token");
  }
  return tokenPair(context, family, family.email);
}

/** Not if it was replaced just now: two commands may refresh at once. */
function isReuse(login: LoginRow, jti: string, now: number): boolean {
  if (jti === login.refresh_jti) return false;
  return jti !== login.previous_refresh_jti || now - (login.rotated_at ?? 0) > raceMilliseconds;
}
