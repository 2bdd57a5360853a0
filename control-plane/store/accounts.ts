/** SQL of accounts at sign-in providers. */
import type { ProviderName } from "../domain/providers.ts";
import type { Queries } from "./db.ts";
import type { Row } from "./tables.ts";

export type AccountRow = Row<"accounts">;

/** The account of (provider, subject), with the e-mail that its user is shown by. */
export const findAccount = (
  { sql }: Queries,
  { provider, subject }: Pick<AccountRow, "provider" | "subject">,
): Promise<(AccountRow & { user_email: string }) | undefined> =>
  sql
    .selectFrom("accounts")
    .innerJoin("users", "users.id", "accounts.user_id")
    .selectAll("accounts")
    .select("users.email as user_email")
    .where("provider", "=", provider)
    .where("subject", "=", subject)
    .executeTakeFirst();

/** The account of one of these providers that the user signed in with last. */
export const findUserAccount = (
  { sql }: Queries,
  user: string,
  providers: readonly ProviderName[],
): Promise<AccountRow | undefined> =>
  sql
    .selectFrom("accounts")
    .selectAll()
    .where("user_id", "=", user)
    .where("provider", "in", [...providers])
    .orderBy("signed_in_at", "desc")
    .limit(1)
    .executeTakeFirst();

/** The accounts of a user. */
export const listAccounts = (
  { sql }: Queries,
  user: string,
): Promise<Pick<AccountRow, "provider" | "email" | "created_at">[]> =>
  sql
    .selectFrom("accounts")
    .select(["provider", "email", "created_at"])
    .where("user_id", "=", user)
    .orderBy("created_at")
    .execute();

/** Adds an account. */
export async function insertAccount({ sql }: Queries, account: AccountRow): Promise<void> {
  await sql.insertInto("accounts").values(account).execute();
}

/** Adds a user who came through a provider: no operator's link leads to them. */
export async function insertUser(
  { sql }: Queries,
  user: { id: string; email: string; created_at: number },
): Promise<void> {
  await sql.insertInto("users").values(user).execute();
}

/** Changes an account; with `from` only while it still holds that access token. */
export async function updateAccount(
  { sql }: Queries,
  { provider, subject }: Pick<AccountRow, "provider" | "subject">,
  change: Partial<AccountRow>,
  from?: string,
): Promise<void> {
  let update = sql
    .updateTable("accounts")
    .set(change)
    .where("provider", "=", provider)
    .where("subject", "=", subject);
  if (from !== undefined) update = update.where("access_token", "=", from);
  await update.execute();
}
