import type {
  CreateRegistrationToken,
  RegistrationToken,
  RegistrationTokenInfo,
} from "../../../protocol/workers.ts";
import type { UserCaller } from "../callers.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { hashToken, newToken } from "../../domain/tokens.ts";
import {
  deleteRegistrationToken,
  findRegistrationToken as findRow,
  insertRegistrationToken,
  listRegistrationTokens as listRows,
} from "../../store/workers/workers.ts";
import { fingerprint, recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";

const defaultSeconds = 3600;

export async function createRegistrationToken(
  { store, now }: Context,
  user: UserCaller,
  { uses = 1, expires_in_seconds = defaultSeconds, ephemeral = false }: CreateRegistrationToken,
): Promise<RegistrationToken> {
  const token = newToken("wlr");
  const created_at = now();
  const expires_at = created_at + expires_in_seconds * 1000;
  const owner_id = user.space_id;
  const token_hash = hashToken(token);
  const id = fingerprint(token_hash);
  await store.write(async (tx) => {
    await insertRegistrationToken(tx, {
      token_hash,
      owner_id,
      uses_left: uses,
      created_at,
      expires_at,
      ephemeral: Number(ephemeral),
    });
    const details = {
      uses,
      expires_at: time(expires_at),
      ...(ephemeral ? { ephemeral: "yes" } : {}),
    };
    const entry = { action: "registration_token.create", id, details } as const;
    await recordOwn(tx, user, entry, created_at);
  });
  return {
    registration_token: token,
    id,
    expires_at: time(expires_at),
    uses_left: uses,
    ephemeral,
  };
}

/** A token of a list, and its place in it. */
export interface ListedToken {
  readonly shown: RegistrationTokenInfo;
  readonly cursor: string;
}

export async function listRegistrationTokens(
  { store: { read }, now }: Context,
  { space_id: owner }: UserCaller,
  cursor: string | undefined,
  limit: number,
): Promise<ListedToken[]> {
  const [, created_at, token_hash] = /^(\d{1,15})-([0-9a-f]{16})$/.exec(cursor ?? "") ?? [];
  if (cursor !== undefined && token_hash === undefined) throw new RefusalError("invalid_cursor");
  const before =
    token_hash === undefined ? undefined : { created_at: Number(created_at), token_hash };
  const rows = await listRows(read, { owner, now: now(), before, limit });
  return rows.map((row) => {
    const id = fingerprint(row.token_hash);
    const { uses_left } = row;
    const ephemeral = row.ephemeral === 1;
    const times = { created_at: time(row.created_at), expires_at: time(row.expires_at) };
    return { shown: { id, uses_left, ...times, ephemeral }, cursor: `${row.created_at}-${id}` };
  });
}

export async function revokeRegistrationToken(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  await store.write(async (tx) => {
    const removed = await tx.first(deleteRegistrationToken, {
      owner: user.space_id,
      id,
      now: now(),
    });
    if (!removed) throw notFound("registration token");
    await recordOwn(tx, user, { action: "registration_token.revoke", id }, now());
  });
}

/** Undefined for a token that is wrong, used up or expired. */
export async function findRegistrationToken(
  { store, now }: Context,
  token: string,
): Promise<string | undefined> {
  const token_hash = hashToken(token);
  return (await store.read.first(findRow, { token_hash, now: now() })) && token_hash;
}
