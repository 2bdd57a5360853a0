import type { Kysely } from "kysely";
import type { RoleOrNone } from "../../domain/roles.ts";
import type { Queries } from "../db.ts";
import { accessTokensBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row, Tables } from "../tables.ts";

/** With the e-mail address of its creator. */
export type AccessTokenRow = Row<"access_tokens"> & { readonly email: string };

/** With the team that it acts in, and the role of its creator there. */
export type AccessTokenOfTeam = AccessTokenRow & {
  readonly team_slug: string | null;
  readonly creator_role: RoleOrNone | null;
  readonly creator_zones: string | null;
  readonly creator_blocked_at: number | null;
};

const tokens = (db: Kysely<Tables>) =>
  db
    .selectFrom("access_tokens")
    .innerJoin("users", "users.id", "access_tokens.created_by")
    .leftJoin("teams", "teams.id", "access_tokens.owner_id")
    .leftJoin("memberships", (join) =>
      join
        .onRef("memberships.space_id", "=", "access_tokens.owner_id")
        .onRef("memberships.user_id", "=", "access_tokens.created_by"),
    )
    .selectAll("access_tokens")
    .select([
      "users.email",
      "users.blocked_at as creator_blocked_at",
      "teams.slug as team_slug",
      "memberships.role as creator_role",
      "memberships.zones as creator_zones",
    ]);

/** Also an expired one: what every call with an access token asks. */
export const findAccessToken = statement<{ token_hash: string }, AccessTokenOfTeam>(
  (db, { token_hash }) => tokens(db).where("token_hash", "=", token_hash),
);

export const findAccessTokenById = statement<{ id: string }, AccessTokenOfTeam>((db, { id }) =>
  tokens(db).where("access_tokens.id", "=", id),
);

export const recordUse = statement<{ id: string; at: number; from: string }>(
  (db, { id, at, from }) =>
    db
      .updateTable("access_tokens")
      .set({ last_used_at: at, last_used_from: from })
      .where("id", "=", id),
);

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

interface AccessTokenFilter {
  readonly owner: string;
  /** Only those that this user created. */
  readonly creator: string | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

export function listAccessTokens(
  { sql: db }: Queries,
  { owner, creator, before, limit }: AccessTokenFilter,
): Promise<AccessTokenRow[]> {
  let query = db
    .selectFrom(accessTokensBy("access_tokens_owner"))
    .innerJoin("users", "users.id", "access_tokens.created_by")
    .selectAll("access_tokens")
    .select("users.email")
    .where("owner_id", "=", owner);
  if (creator !== undefined) query = query.where("created_by", "=", creator);
  if (before !== undefined) query = query.where("access_tokens.id", "<", before);
  return query.orderBy("access_tokens.id", "desc").limit(limit).execute();
}

export async function insertAccessToken(tx: Queries, token: Row<"access_tokens">): Promise<void> {
  await tx.sql.insertInto("access_tokens").values(token).execute();
}

export const deleteAccessToken = statement<{ id: string }>((db, { id }) =>
  db.deleteFrom("access_tokens").where("id", "=", id),
);
