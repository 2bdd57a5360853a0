/** Tokens with which workers register themselves. */
import type { CreateRegistrationToken, RegistrationToken } from "../../../protocol/workers.ts";
import type { UserCaller } from "../callers.ts";
import { hashToken, newToken } from "../../domain/tokens.ts";
import {
  findRegistrationToken as findRow,
  insertRegistrationToken,
} from "../../store/workers/workers.ts";
import { fingerprint, recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { time } from "../jobs/views.ts";

const defaultSeconds = 3600;

/** POST /api/cli/registration-tokens. */
export async function createRegistrationToken(
  { store, now }: Context,
  user: UserCaller,
  { uses = 1, expires_in_seconds = defaultSeconds }: CreateRegistrationToken,
): Promise<RegistrationToken> {
  const token = newToken("wlr");
  const created_at = now();
  const expires_at = created_at + expires_in_seconds * 1000;
  const owner_id = user.user_id;
  const token_hash = hashToken(token);
  await store.write(async (tx) => {
    const uses_left = uses;
    await insertRegistrationToken(tx, { token_hash, owner_id, uses_left, created_at, expires_at });
    const id = fingerprint(token_hash);
    const details = { uses, expires_at: time(expires_at) };
    const entry = { action: "registration_token.create", id, details } as const;
    await recordOwn(tx, user, entry, created_at);
  });
  return { registration_token: token, expires_at: time(expires_at), uses_left: uses };
}

/**
 * Returns the hash of a registration token that can be used; undefined for one that is wrong, used
 * up or expired.
 */
export async function findRegistrationToken(
  { store, now }: Context,
  token: string,
): Promise<string | undefined> {
  const token_hash = hashToken(token);
  return (await store.read.first(findRow, { token_hash, now: now() })) && token_hash;
}
