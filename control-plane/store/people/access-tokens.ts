/** SQL of access tokens. */
import type { Queries } from "../db.ts";
import { accessTokensBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

/** With the e-mail address of its creator. */
export type AccessTokenRow = Row<"access_tokens"> & { readonly email: string };

/** Also an expired one: what every call with an access token asks. */
export const findAccessToken = statement<{ token_hash: string }, AccessTokenRow>(
  (db, { token_hash }) =>
    db
      .selectFrom("access_tokens")
      .innerJoin("users", "users.id", "access_tokens.created_by")
      .selectAll("access_tokens")
      .select("users.email")
      .where("token_hash", "=", token_hash),
);

export const findAccessTokenById = statement<{ id: string }, AccessTokenRow>((db, { id }) =>
  db
    .selectFrom("access_tokens")
    .innerJoin("users", "users.id", "access_tokens.created_by")
    .selectAll("access_tokens")
    .select("users.email")
    .where("access_tokens.id", "=", id),
);

export const recordUse = statement<{ id: string; at: number; from: string }>(
  (db, { id, at, from }) =>
    db
      .updateTable("access_tokens")
      .set({ last_used_at: at, last_used_from: from })
      .where("id", "=", id),
);

/** The names of an owner's access tokens. */
export const listAccessTokenNames = async (
  { sql: db }: Queries,
  owner: string,
): Promise<string[]> =>
  (
    await db
      .selectFrom(accessTokensBy("access_tokens_name"))
      .select("name")
      .where("owner_id", "=", owner)
      .execute()
  ).map(({ name }) => name);

/** A page of an owner's access tokens, newest first. */
export function listAccessTokens(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<AccessTokenRow[]> {
  let query = db
    .selectFrom(accessTokensBy("access_tokens_owner"))
    .innerJoin("users", "users.id", "access_tokens.created_by")
    .selectAll("access_tokens")
    .select("users.email")
    .where("owner_id", "=", owner);
  if (before !== undefined) query = query.where("access_tokens.id", "<", before);
  return query.orderBy("access_tokens.id", "desc").limit(limit).execute();
}

/** Adds an access token. */
export async function insertAccessToken(tx: Queries, token: Row<"access_tokens">): Promise<void> {
  await tx.sql.insertInto("access_tokens").values(token).execute();
}

/** Removes an access token of an owner. */
export const deleteAccessToken = statement<
  { id: string; owner: string },
  Pick<Row<"access_tokens">, "name">
>((db, { id, owner }) =>
  db
    .deleteFrom("access_tokens")
    .where("id", "=", id)
    .where("owner_id", "=", owner)
    .returning("name"),
);
