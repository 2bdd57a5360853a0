import { sql as raw } from "kysely";
import type { Queries } from "../db.ts";
import { contains } from "../search/contains.ts";
import type { Row } from "../tables.ts";
import type { AccountRow } from "./accounts.ts";

/** A user, with a team that they are a member of by an invitation. */
export type PersonRow = Row<"users"> & { readonly invited_to: string | null };

const people = ({ sql }: Queries) =>
  sql
    .selectFrom("users")
    .selectAll("users")
    .select((user) =>
      user
        .selectFrom("memberships")
        .innerJoin("teams", "teams.id", "memberships.space_id")
        .select("teams.slug")
        .whereRef("memberships.user_id", "=", "users.id")
        .where("invited_by", "is not", null)
        .limit(1)
        .as("invited_to"),
    );

export const findPerson = (queries: Queries, user: string): Promise<PersonRow | undefined> =>
  people(queries).where("users.id", "=", user).executeTakeFirst();

/** The accounts of a user, with their sealed tokens. */
export const listAccountRows = ({ sql }: Queries, user: string): Promise<AccountRow[]> =>
  sql.selectFrom("accounts").selectAll().where("user_id", "=", user).execute();

/** Reserves the next check of a user at the providers: of concurrent calls, one gets a row. */
export async function takeQuestion(
  { sql }: Queries,
  { user, now, before }: { readonly user: string; readonly now: number; readonly before: number },
): Promise<boolean> {
  const { numUpdatedRows } = await sql
    .updateTable("users")
    .set({ asked_at: now })
    .where("id", "=", user)
    .where((where) => where.or([where("asked_at", "is", null), where("asked_at", "<=", before)]))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function saveAdmission(
  { sql }: Queries,
  user: string,
  change: Partial<
    Pick<Row<"users">, "asked_at" | "unanswered_since" | "allowed_group" | "blocked_at">
  >,
): Promise<void> {
  await sql.updateTable("users").set(change).where("id", "=", user).execute();
}

/** Also ends approved device logins and one-time links. Returns how many logins ended. */
export async function endLoginsOf(
  { sql }: Queries,
  { id, link_email }: Pick<PersonRow, "id" | "link_email">,
  now: number,
): Promise<number> {
  await sql
    .updateTable("cli_logins")
    .set({ expires_at: now })
    .where("profile_id", "=", id)
    .where("expires_at", ">", now)
    .execute();
  if (link_email !== null)
    await sql
      .deleteFrom("login_links")
      .where("email", "=", link_email)
      .where("used_at", "is", null)
      .execute();
  const { numUpdatedRows } = await sql
    .updateTable("logins")
    .set({ revoked_at: now })
    .where("user_id", "=", id)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Whether this user, or another one with one of these addresses, is blocked. */
export async function isBlocked(
  queries: Queries,
  user: string,
  addresses: readonly string[],
): Promise<boolean> {
  const blocked = await queries.sql
    .selectFrom("users")
    .select("id")
    .where("blocked_at", "is not", null)
    .where((where) => where.or([where("id", "=", user), hasAddress(addresses)]))
    .limit(1)
    .execute();
  return blocked.length > 0;
}

/** The users who have one of these addresses, in an account or by a link. */
export const findByAddress = (queries: Queries, address: string): Promise<PersonRow[]> =>
  people(queries)
    .where(hasAddress([address]))
    .orderBy("users.id")
    .execute();

/** Addresses are in lower case. */
const hasAddress = (addresses: readonly string[]) =>
  raw<boolean>`(lower(users.email) in (${raw.join(addresses)}) or exists (select 1 from accounts
    where accounts.user_id = users.id and lower(accounts.email) in (${raw.join(addresses)})))`;

export type ListedPersonRow = PersonRow & {
  readonly sessions: number;
  readonly clients: number;
  readonly last_login_at: number | null;
};

/** A page of those who are signed in or blocked, the newest user first. `text`: a part of the address. */
export function listPeople(
  queries: Queries,
  { now, text }: { readonly now: number; readonly text: string },
  before: string | undefined,
  limit: number,
): Promise<ListedPersonRow[]> {
  const live = raw`from logins where logins.user_id = users.id and revoked_at is null and expires_at > ${now}`;
  let query = people(queries)
    .select([
      raw<number>`(select count(*) ${live} and kind = 'session')`.as("sessions"),
      raw<number>`(select count(*) ${live} and kind = 'cli')`.as("clients"),
      raw<number | null>`(select max(logins.created_at) ${live})`.as("last_login_at"),
    ])
    .where(raw<boolean>`(blocked_at is not null or exists (select 1 ${live}))`);
  if (text !== "") query = query.where(contains(raw.ref("users.email"), text));
  if (before !== undefined) query = query.where("users.id", "<", before);
  return query.orderBy("users.id", "desc").limit(limit).execute();
}
