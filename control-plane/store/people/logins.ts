import type { RoleOrNone } from "../../domain/roles.ts";
import type { Queries } from "../db.ts";
import { loginsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type LoginRow = Row<"logins">;
export type CliLoginRow = Row<"cli_logins">;

export type LoginOfTeam = Pick<LoginRow, "id" | "user_id" | "kind"> & {
  readonly email: string;
  readonly team_id: string | null;
  readonly team_slug: string | null;
  readonly team_role: RoleOrNone | null;
  readonly team_zones: string | null;
};

/** One row for each team of the user, and one if there is none. */
export const findLogin = statement<{ id: string; now: number }, LoginOfTeam>((db, { id, now }) =>
  db
    .selectFrom("logins")
    .innerJoin("users", "users.id", "logins.user_id")
    .leftJoin("memberships", "memberships.user_id", "logins.user_id")
    .leftJoin("teams", "teams.id", "memberships.space_id")
    .select([
      "logins.id",
      "logins.user_id",
      "logins.kind",
      "users.email",
      "teams.id as team_id",
      "teams.slug as team_slug",
      "memberships.role as team_role",
      "memberships.zones as team_zones",
    ])
    .where("logins.id", "=", id)
    .where("logins.revoked_at", "is", null)
    .where("logins.expires_at", ">", now),
);

/** The token family of a CLI login, also a revoked one. */
export const findFamily = statement<{ id: string }, LoginRow & { email: string }>((db, { id }) =>
  db
    .selectFrom("logins")
    .innerJoin("users", "users.id", "logins.user_id")
    .selectAll("logins")
    .select("users.email")
    .where("logins.id", "=", id),
);

/** One statement: of many that show `previous` at once, one gets a row. */
export const rotateFamily = statement<
  { id: string; next: string; previous: string; now: number; expires_at: number },
  { id: string }
>((db, { id, next, previous, now, expires_at }) =>
  db
    .updateTable("logins")
    .set({ refresh_jti: next, previous_refresh_jti: previous, rotated_at: now, expires_at })
    .where("id", "=", id)
    .where("kind", "=", "cli")
    .where("refresh_jti", "=", previous)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .returning("id"),
);

/** Ends a login: its tokens are refused from now on. No row: it had ended before. */
export const revokeLogin = statement<{ id: string; now: number }, { id: string }>(
  (db, { id, now }) =>
    db
      .updateTable("logins")
      .set({ revoked_at: now })
      .where("id", "=", id)
      .where("revoked_at", "is", null)
      .returning("id"),
);

export async function insertLogin(tx: Queries, login: LoginRow): Promise<void> {
  await tx.sql.insertInto("logins").values(login).execute();
}

/** The user whom the operator's links for this e-mail sign in, made on first use. */
export async function findOrAddLinkUser(
  tx: Queries,
  user: Pick<Row<"users">, "id" | "email" | "created_at">,
): Promise<Row<"users">> {
  await tx.sql
    .insertInto("users")
    .values({ ...user, link_email: user.email })
    .onConflict((conflict) => conflict.column("link_email").doNothing())
    .execute();
  return tx.sql
    .selectFrom("users")
    .selectAll()
    .where("link_email", "=", user.email)
    .executeTakeFirstOrThrow();
}

/** The user whom links for this e-mail sign in, once one was opened. */
export const findLinkUser = (
  { sql: db }: Queries,
  email: string,
): Promise<Row<"users"> | undefined> =>
  db.selectFrom("users").selectAll().where("link_email", "=", email).executeTakeFirst();

export async function insertLink(tx: Queries, link: Row<"login_links">): Promise<void> {
  await tx.sql.insertInto("login_links").values(link).execute();
}

/** Uses a link, in one statement: of two requests that open it at once, one gets a row. */
export const useLink = statement<{ token_hash: string; now: number }, { email: string }>(
  (db, { token_hash, now }) =>
    db
      .updateTable("login_links")
      .set({ used_at: now })
      .where("token_hash", "=", token_hash)
      .where("used_at", "is", null)
      .where("expires_at", ">", now)
      .returning("email"),
);

export const findCliLogin = statement<{ device_code: string }, CliLoginRow>((db, { device_code }) =>
  db.selectFrom("cli_logins").selectAll().where("device_code", "=", device_code),
);

export async function insertCliLogin(tx: Queries, login: CliLoginRow): Promise<void> {
  await tx.sql.insertInto("cli_logins").values(login).execute();
}

/** Before the guess is checked: of concurrent guesses, at most `limit` are checked. */
export const takeGuess = statement<
  { device_code: string; limit: number; now: number },
  CliLoginRow
>((db, { device_code, limit, now }) =>
  db
    .updateTable("cli_logins")
    .set((set) => ({ wrong_guesses: set("wrong_guesses", "+", 1) }))
    .where("device_code", "=", device_code)
    .where("wrong_guesses", "<", limit)
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .returningAll(),
);

export const useCliLogin = statement<{ device_code: string; now: number }>(
  (db, { device_code, now }) =>
    db.updateTable("cli_logins").set({ used_at: now }).where("device_code", "=", device_code),
);

/** A page of the valid logins of a user, newest first. */
export function listLogins(
  { sql: db }: Queries,
  user: string,
  now: number,
  before: string | undefined,
  limit: number,
): Promise<LoginRow[]> {
  let query = db
    .selectFrom(loginsBy("logins_user"))
    .selectAll()
    .where("user_id", "=", user)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now);
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
}

/** Ends a login of the user. Returns it if it was valid. */
export async function revokeOwnLogin(
  { sql: db }: Queries,
  user: string,
  id: string,
  now: number,
): Promise<Pick<LoginRow, "id" | "kind"> | undefined> {
  return db
    .updateTable("logins")
    .set({ revoked_at: now })
    .where("id", "=", id)
    .where("user_id", "=", user)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .returning(["id", "kind"])
    .executeTakeFirst();
}

/** Deletes what expired before this moment. */
export async function deleteExpired({ sql: db }: Queries, before: number): Promise<void> {
  const tables = [
    "login_links",
    "logins",
    "cli_logins",
    "registration_tokens",
    "access_tokens",
    "invitations",
  ] as const;
  for (const table of tables) await db.deleteFrom(table).where("expires_at", "<", before).execute();
}
