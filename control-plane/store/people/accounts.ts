import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type AccountRow = Row<"accounts">;

export type AccountId = Pick<AccountRow, "provider" | "host" | "subject">;

/** The account, with the e-mail that its user is shown by. */
export const findAccount = (
  { sql }: Queries,
  { provider, host, subject }: AccountId,
): Promise<(AccountRow & { user_email: string }) | undefined> =>
  sql
    .selectFrom("accounts")
    .innerJoin("users", "users.id", "accounts.user_id")
    .selectAll("accounts")
    .select("users.email as user_email")
    .where("provider", "=", provider)
    .where("host", "=", host)
    .where("subject", "=", subject)
    .executeTakeFirst();

/** The account at one of these hosts that the user signed in with last. */
export const findUserAccount = (
  { sql }: Queries,
  user: string,
  hosts: readonly Pick<AccountId, "provider" | "host">[],
): Promise<AccountRow | undefined> =>
  sql
    .selectFrom("accounts")
    .selectAll()
    .where("user_id", "=", user)
    .where((where) =>
      where.or(
        hosts.map(({ provider, host }) =>
          where.and([where("provider", "=", provider), where("host", "=", host)]),
        ),
      ),
    )
    .orderBy("signed_in_at", "desc")
    .limit(1)
    .executeTakeFirst();

/** Sets the host of accounts of 0.1.0, which did not store it. */
export async function setMissingHosts(
  { sql }: Queries,
  { provider, host }: Pick<AccountId, "provider" | "host">,
): Promise<void> {
  await sql
    .updateTable("accounts")
    .set({ host })
    .where("provider", "=", provider)
    .where("host", "=", "")
    .execute();
}

export const findUserEmail = statement<{ user: string }, { email: string }>((db, { user }) =>
  db.selectFrom("users").select("email").where("id", "=", user),
);

/** Verified by a provider or by an operator's link; may repeat. */
export async function listAddressesOf({ sql }: Queries, user: string): Promise<string[]> {
  const rows = await sql
    .selectFrom("users")
    .select("email")
    .where("id", "=", user)
    .unionAll(sql.selectFrom("accounts").select("email").where("user_id", "=", user))
    .execute();
  return rows.map(({ email }) => email);
}

/** The first user who signed in by an operator's link. */
export const findFirstUser = ({ sql }: Queries): Promise<{ id: string } | undefined> =>
  sql
    .selectFrom("users")
    .select("id")
    .where("link_email", "is not", null)
    .orderBy("created_at")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();

export const listAccounts = (
  { sql }: Queries,
  user: string,
): Promise<Pick<AccountRow, "provider" | "host" | "email" | "created_at">[]> =>
  sql
    .selectFrom("accounts")
    .select(["provider", "host", "email", "created_at"])
    .where("user_id", "=", user)
    .orderBy("created_at")
    .execute();

export const listTokens = ({
  sql,
}: Queries): Promise<Pick<AccountRow, keyof AccountId | "access_token" | "refresh_token">[]> =>
  sql
    .selectFrom("accounts")
    .select(["provider", "host", "subject", "access_token", "refresh_token"])
    .execute();

export async function insertAccount({ sql }: Queries, account: AccountRow): Promise<void> {
  await sql.insertInto("accounts").values(account).execute();
}

/** Adds a user who signed up at a provider: no operator's link signs them in. */
export async function insertUser(
  { sql }: Queries,
  user: { id: string; email: string; created_at: number },
): Promise<void> {
  await sql.insertInto("users").values(user).execute();
}

/** Changes an account; with `from`, only if it still has that access token. */
export async function updateAccount(
  { sql }: Queries,
  { provider, host, subject }: AccountId,
  change: Partial<AccountRow>,
  from?: string,
): Promise<void> {
  let update = sql
    .updateTable("accounts")
    .set(change)
    .where("provider", "=", provider)
    .where("host", "=", host)
    .where("subject", "=", subject);
  if (from !== undefined) update = update.where("access_token", "=", from);
  await update.execute();
}
