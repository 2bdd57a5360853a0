import { sql as raw } from "kysely";
import type { Queries } from "../db.ts";
import { logoutTokensFrom, logoutTokensTo } from "../facts.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";
import type { LoginRow } from "./logins.ts";

export type ProviderSessionRow = Row<"provider_sessions">;

export async function insertProviderSession(
  { sql }: Queries,
  session: ProviderSessionRow,
): Promise<void> {
  await sql.insertInto("provider_sessions").values(session).execute();
}

/** The session at a provider from which a login came, unless it came from none. */
export const findSessionOfLogin = statement<{ login: string }, ProviderSessionRow>(
  (db, { login }) =>
    db
      .selectFrom("logins")
      .innerJoin("provider_sessions", "provider_sessions.id", "logins.provider_session_id")
      .selectAll("provider_sessions")
      .where("logins.id", "=", login),
);

/** Those that a provider calls by this `sid`, or all of this person there. */
export const findSessionsAt = (
  { sql }: Queries,
  { host, subject, sid }: { host: string; subject: string | undefined; sid: string | undefined },
): Promise<ProviderSessionRow[]> => {
  let query = sql.selectFrom("provider_sessions").selectAll().where("host", "=", host);
  if (subject !== undefined) query = query.where("subject", "=", subject);
  if (sid !== undefined) query = query.where("sid", "=", sid);
  return query.execute();
};

/** Whether the provider of an account has said lately that a session of it goes on. */
export const findAnswered = statement<
  { host: string; subject: string; since: number },
  { id: string }
>((db, { host, subject, since }) =>
  db
    .selectFrom("provider_sessions")
    .select("id")
    .where("host", "=", host)
    .where("subject", "=", subject)
    .where("answered_at", ">", since)
    .limit(1),
);

/** Reserves the next question: of concurrent calls, one gets a row. */
export const takeTurn = statement<{ id: string; before: number; now: number }, { id: string }>(
  (db, { id, before, now }) =>
    db
      .updateTable("provider_sessions")
      .set({ asked_at: now })
      .where("id", "=", id)
      .where("asked_at", "=", before)
      .returning("id"),
);

export async function updateProviderSession(
  { sql }: Queries,
  id: string,
  change: Partial<Pick<ProviderSessionRow, "answered_at" | "refresh_token" | "id_token">>,
): Promise<void> {
  await sql.updateTable("provider_sessions").set(change).where("id", "=", id).execute();
}

export const listSealedSessions = ({
  sql,
}: Queries): Promise<Pick<ProviderSessionRow, "id" | "id_token" | "refresh_token">[]> =>
  sql.selectFrom("provider_sessions").select(["id", "id_token", "refresh_token"]).execute();

/** Ends its logins, and device logins that were approved and not used yet. Returns the logins. */
export async function endLoginsFrom(
  { sql }: Queries,
  id: string,
  now: number,
): Promise<Pick<LoginRow, "id" | "kind">[]> {
  await sql
    .updateTable("cli_logins")
    .set({ expires_at: now })
    .where("provider_session_id", "=", id)
    .where("expires_at", ">", now)
    .execute();
  return sql
    .updateTable("logins")
    .set({ revoked_at: now })
    .where("provider_session_id", "=", id)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .returning(["id", "kind"])
    .execute();
}

/**
 * Whether a session is the one by which a provider can be asked about a person whose access tokens
 * work in a team because of groups: the newest with a refresh token.
 */
const isOfHolder = (now: number) => raw<boolean>`(refresh_token is not null
  and exists (select 1 from access_tokens join memberships
    on memberships.space_id = access_tokens.owner_id and memberships.user_id = access_tokens.created_by
    where access_tokens.created_by = provider_sessions.user_id and access_tokens.expires_at > ${now}
      and memberships.group_role is not null)
  and not exists (select 1 from provider_sessions as newer where newer.host = provider_sessions.host
    and newer.subject = provider_sessions.subject and newer.refresh_token is not null
    and newer.id > provider_sessions.id))`;

/** Those of which the provider was not asked since this moment, and has not answered. */
export const listSessionsOfHolders = statement<
  { before: number; now: number; limit: number },
  ProviderSessionRow
>((db, { before, now, limit }) =>
  db
    .selectFrom("provider_sessions")
    .selectAll()
    .where("asked_at", "<=", before)
    .where("answered_at", "<=", before)
    .where(isOfHolder(now))
    .orderBy("asked_at")
    .limit(limit),
);

/** Removes sessions from which no login comes any longer, and that nothing else needs. */
export async function deleteEndedSessions({ sql }: Queries, now: number): Promise<void> {
  await sql
    .deleteFrom("provider_sessions")
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("logins")
            .select("logins.id")
            .whereRef("logins.provider_session_id", "=", "provider_sessions.id")
            .where("revoked_at", "is", null)
            .where("expires_at", ">", now),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("cli_logins")
            .select("cli_logins.device_code")
            .whereRef("cli_logins.provider_session_id", "=", "provider_sessions.id")
            .where("used_at", "is", null)
            .where("expires_at", ">", now),
        ),
      ),
    )
    .where(raw<boolean>`not ${isOfHolder(now)}`)
    .execute();
}

/** Remembers a logout token until it expires. False: it was used before. */
export async function useLogoutToken(
  { sql }: Queries,
  id: string,
  expires: number,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await sql
    .insertInto("facts")
    .values({ name: `${logoutTokensFrom}${id}`, value: String(expires) })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export async function deleteLogoutTokens({ sql }: Queries, now: number): Promise<void> {
  const rows = await sql
    .selectFrom("facts")
    .selectAll()
    .where("name", ">", logoutTokensFrom)
    .where("name", "<", logoutTokensTo)
    .execute();
  const over = rows.filter(({ value }) => Number(value) < now).map(({ name }) => name);
  if (over.length > 0) await sql.deleteFrom("facts").where("name", "in", over).execute();
}
