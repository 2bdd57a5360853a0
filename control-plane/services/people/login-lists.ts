/** Where a person is signed in. */
import type { Login } from "../../../protocol/logins.ts";
import type { UserCaller } from "../callers.ts";
import { notFound } from "../../domain/refusal.ts";
import { listLogins as listRows, revokeOwnLogin } from "../../store/people/login-lists.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { time } from "../jobs/views.ts";

/** A page of GET /api/cli/logins. */
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
    await recordOwn(tx, user, { action: "login.revoke", id, name }, now());
  });
  wakeups.ring("login", login);
}
