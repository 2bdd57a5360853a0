import { randomUUID } from "node:crypto";
import { v7 as uuid } from "uuid";
import { day, minute } from "../../../common/units.ts";
import type { TokenPair } from "../../../protocol/auth.ts";
import type { Login } from "../../../protocol/logins.ts";
import { RefusalError, notFound } from "../../domain/refusal.ts";
import { lowerCase } from "../../domain/sign-in-allow.ts";
import { hashToken, newToken } from "../../domain/tokens.ts";
import type { Queries, Store } from "../../store/db.ts";
import { isBlocked } from "../../store/people/admission.ts";
import { deleteEndedSessions, deleteLogoutTokens } from "../../store/people/provider-sessions.ts";
import {
  deleteExpired,
  findLinkUser,
  findOrAddLinkUser,
  insertLink,
  insertLogin,
  listLogins as listRows,
  revokeLogin,
  revokeOwnLogin,
  useLink,
  type LoginRow,
} from "../../store/people/logins.ts";
import { fingerprint, operator, person, record, type Actor } from "../audit/audit.ts";
import type { Origin, SignedIn, UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";
import { secondsOf, signToken } from "./jwt.ts";

/** How long a one-time link is valid. */
export const linkMilliseconds = 15 * minute;
/** How long a session is valid, however much it is used. */
const sessionMilliseconds = 90 * day;
/** A dead device code must stay dead for a client that still shows it. */
const graceMilliseconds = 30 * day;

export async function createLink(store: Store, email: string, now: number): Promise<string> {
  const token = newToken("wll");
  const token_hash = hashToken(token);
  await store.write(async (tx) => {
    await insertLink(tx, {
      token_hash,
      email,
      created_at: now,
      expires_at: now + linkMilliseconds,
      used_at: null,
    });
    // For a person who is not yet a user, the first use creates the user; the audit entry of the
    // link then has no user.
    const owner = (await findLinkUser(tx, email))?.id ?? null;
    const id = fingerprint(token_hash);
    await record(tx, { by: operator, owner, action: "login_link.create", id, name: email }, now);
  });
  return token;
}

/** Uses the link up. Undefined if unknown, used or expired. Throws if the person is blocked. */
export function openLink(
  { store, now }: Context,
  token: string,
  origin: Origin,
): Promise<SignedIn | undefined> {
  return store.write(async (tx) => {
    const link = await tx.first(useLink, { token_hash: hashToken(token), now: now() });
    if (!link) return undefined;
    const user = await findOrAddLinkUser(tx, { id: uuid(), email: link.email, created_at: now() });
    await checkBlocked(tx, user.id, [link.email]);
    return startSession(tx, user, { way: "link", origin }, now());
  });
}

/** Throws 403 if an operator has blocked the user, or another one with one of these addresses. */
export async function checkBlocked(
  tx: Queries,
  user: string,
  addresses: readonly string[],
): Promise<void> {
  if (await isBlocked(tx, user, addresses.map(lowerCase)))
    throw new RefusalError("permission_denied", "An operator of this server has blocked you");
}

/** Runs in a transaction. `way`: `link` or a provider, perhaps with the session there. */
export async function startSession(
  tx: Queries,
  { id, email }: { readonly id: string; readonly email: string },
  {
    way,
    origin,
    provider_session_id = null,
  }: {
    readonly way: string;
    readonly origin: Origin;
    readonly provider_session_id?: string | null;
  },
  now: number,
): Promise<SignedIn> {
  const login = {
    ...newLogin(id, "session", now, now + sessionMilliseconds),
    provider_session_id,
  };
  const signedIn = { user_id: id, email, login_id: login.id };
  await insertLogin(tx, login);
  const by = person({ ...signedIn, login_kind: login.kind, origin });
  await record(
    tx,
    { by, owner: id, action: "login.create", id: login.id, name: login.kind, details: { way } },
    now,
  );
  return signedIn;
}

export async function endLogin(
  { store, wakeups, now }: Context,
  caller: UserCaller,
): Promise<void> {
  const { login_id: id, login_kind: name } = caller;
  await store.write(async (tx) => {
    // Another sign-out at the same time may have been first.
    if (!(await tx.first(revokeLogin, { id, now: now() }))) return;
    const details = { reason: "signed_out" };
    const by = ending(caller);
    const owner = caller.user_id;
    await record(tx, { by, owner, action: "login.revoke", id, name, details }, now());
  });
  wakeups.notify("login", id);
}

/** A person whose login has just ended in the same transaction, by their own request. */
const ending = (caller: UserCaller): Actor => {
  const { admitted: _, ...by } = person(caller);
  return by;
};

/** Starts a CLI login of a user, in a transaction. `tokenPair` then creates its first tokens. */
export async function startCliLogin(
  tx: Queries,
  user: string,
  now: number,
  provider_session_id: string | null = null,
): Promise<LoginRow> {
  const login = {
    ...newLogin(user, "cli", now, now + secondsOf.refresh * 1000),
    provider_session_id,
    refresh_jti: randomUUID(),
  };
  await insertLogin(tx, login);
  return login;
}

/** Returns an access token and the only refresh token of a CLI login. */
export async function tokenPair(
  context: Context,
  { id: sid, user_id: sub, refresh_jti }: Pick<LoginRow, "id" | "user_id" | "refresh_jti">,
  email: string,
): Promise<TokenPair> {
  const claims = { sub, email, sid };
  const [access_token, refresh_token] = await Promise.all([
    signToken(context, "access", { ...claims, jti: randomUUID() }),
    signToken(context, "refresh", { ...claims, jti: refresh_jti ?? "" }),
  ]);
  return { access_token, refresh_token, token_type: "Bearer", expires_in: secondsOf.access };
}

export async function listLogins(
  { store, now }: Context,
  { user_id, login_id }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Login[]> {
  const logins = await listRows(store.read, user_id, now(), before, limit);
  return logins.map(({ id, kind, created_at, expires_at }) => ({
    id,
    kind,
    current: id === login_id,
    created_at: time(created_at),
    expires_at: time(expires_at),
  }));
}

/** DELETE /api/cli/logins/{id}: its access tokens are refused at once. */
export async function endOwnLogin(
  { store, wakeups, now }: Context,
  user: UserCaller,
  login: string,
): Promise<void> {
  await store.write(async (tx) => {
    const { user_id: owner } = user;
    const ended = await revokeOwnLogin(tx, owner, login, now());
    if (!ended) throw notFound("login");
    const { id, kind: name } = ended;
    await record(tx, { by: ending(user), owner, action: "login.revoke", id, name }, now());
  });
  wakeups.notify("login", login);
}

export const pruneExpired = ({ store, now }: Context): Promise<void> =>
  store.write(async (tx) => {
    await deleteExpired(tx, now() - graceMilliseconds);
    await deleteEndedSessions(tx, now());
    await deleteLogoutTokens(tx, now());
  });

const newLogin = (
  user_id: string,
  kind: LoginRow["kind"],
  created_at: number,
  expires_at: number,
): LoginRow => ({
  id: uuid(),
  user_id,
  kind,
  created_at,
  expires_at,
  revoked_at: null,
  refresh_jti: null,
  previous_refresh_jti: null,
  rotated_at: null,
  provider_session_id: null,
});
