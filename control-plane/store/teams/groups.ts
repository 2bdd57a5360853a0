/** The groups of sign-in providers that teams admit, and who is in them. */
import { sql as raw } from "kysely";
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type TeamGroupRow = Row<"team_groups">;

export const listTeamGroups = statement<{ space: string }, TeamGroupRow>((db, { space }) =>
  db
    .selectFrom("team_groups")
    .selectAll()
    .where("space_id", "=", space)
    .orderBy("host")
    .orderBy("name"),
);

/** How many other teams admit a group. */
export const countTeamsOfGroup = statement<
  { host: string; name: string; space: string },
  { count: number }
>((db, { host, name, space }) =>
  db
    .selectFrom("team_groups")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("host", "=", host)
    .where("name", "=", name)
    .where("space_id", "<>", space),
);

/** Replaces all groups of a team. */
export async function saveTeamGroups(
  { sql }: Queries,
  space: string,
  groups: readonly TeamGroupRow[],
): Promise<void> {
  await sql.deleteFrom("team_groups").where("space_id", "=", space).execute();
  if (groups.length > 0) await sql.insertInto("team_groups").values(groups).execute();
}

/** What teams give to those of these groups (JSON) at a provider, what they gave first being first. */
export const listGroupsOf = statement<{ host: string; names: string; limit: number }, TeamGroupRow>(
  (db, { host, names, limit }) =>
    db
      .selectFrom("team_groups")
      .selectAll()
      .where("host", "=", host)
      .where("name", "in", raw<string>`(select value from json_each(${names}))`)
      .orderBy("created_at")
      .orderBy("space_id")
      .orderBy("name")
      .limit(limit),
);

export type GroupedAccount = Pick<Row<"accounts">, "host" | "subject" | "user_id" | "groups">;

/** The accounts of a user whose groups are known. */
export const listGroupedAccounts = statement<{ user: string }, GroupedAccount>((db, { user }) =>
  db
    .selectFrom("accounts")
    .select(["host", "subject", "user_id", "groups"])
    .where("provider", "=", "oidc")
    .where("user_id", "=", user)
    .where("groups_at", "is not", null),
);

/** A page of the accounts at a provider whose groups are known. */
export const listGroupedAt = statement<
  { host: string; after: string; limit: number },
  GroupedAccount
>((db, { host, after, limit }) =>
  db
    .selectFrom("accounts")
    .select(["host", "subject", "user_id", "groups"])
    .where("provider", "=", "oidc")
    .where("host", "=", host)
    .where("subject", ">", after)
    .where("groups_at", "is not", null)
    .orderBy("subject")
    .limit(limit),
);

/** Some accounts whose groups were named before this moment. */
export const listOldGroups = statement<{ before: number; limit: number }, GroupedAccount>(
  (db, { before, limit }) =>
    db
      .selectFrom("accounts")
      .select(["host", "subject", "user_id", "groups"])
      .where("provider", "=", "oidc")
      .where("groups_at", "<=", before)
      .orderBy("groups_at")
      .limit(limit),
);
