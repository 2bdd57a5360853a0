import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type MemberRow = Row<"memberships"> & { readonly email: string };

export const findMember = statement<{ space: string; user: string }, MemberRow>(
  (db, { space, user }) =>
    db
      .selectFrom("memberships")
      .innerJoin("users", "users.id", "memberships.user_id")
      .selectAll("memberships")
      .select("users.email")
      .where("space_id", "=", space)
      .where("user_id", "=", user),
);

/** A page of the members of a team, the newest users first. */
export function listMembers(
  { sql }: Queries,
  space: string,
  before: string | undefined,
  limit: number,
): Promise<MemberRow[]> {
  let query = sql
    .selectFrom("memberships")
    .innerJoin("users", "users.id", "memberships.user_id")
    .selectAll("memberships")
    .select("users.email")
    .where("space_id", "=", space);
  if (before !== undefined) query = query.where("user_id", "<", before);
  return query.orderBy("user_id", "desc").limit(limit).execute();
}

export const countMembers = statement<{ space: string }, { count: number }>((db, { space }) =>
  db
    .selectFrom("memberships")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("space_id", "=", space),
);

/** Those that the user is a member of not only by groups. */
export const countTeamsOf = statement<{ user: string }, { count: number }>((db, { user }) =>
  db
    .selectFrom("memberships")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("user_id", "=", user)
    .where("invited_role", "is not", null),
);

/** Those that the user has created and is still a member of. */
export const countCreatedTeams = statement<{ user: string }, { count: number }>((db, { user }) =>
  db
    .selectFrom("memberships")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("user_id", "=", user)
    .where("invited_role", "is not", null)
    .where("invited_by", "is", null),
);

/** Someone who is blocked cannot act as one. */
export const findOtherAdmin = statement<{ space: string; user: string }, { user_id: string }>(
  (db, { space, user }) =>
    db
      .selectFrom("memberships")
      .innerJoin("users", "users.id", "memberships.user_id")
      .select("user_id")
      .where("space_id", "=", space)
      .where("user_id", "<>", user)
      .where("blocked_at", "is", null)
      .where("role", "=", "admin")
      .limit(1),
);

export async function insertMember({ sql }: Queries, member: Row<"memberships">): Promise<void> {
  await sql.insertInto("memberships").values(member).execute();
}

export async function saveMember(
  { sql }: Queries,
  { space_id, user_id, ...change }: Omit<Row<"memberships">, "joined_at">,
): Promise<void> {
  await sql
    .updateTable("memberships")
    .set(change)
    .where("space_id", "=", space_id)
    .where("user_id", "=", user_id)
    .execute();
}

/** The memberships that a user has by groups, perhaps not only by them. */
export const listGroupMemberships = statement<{ user: string }, MemberRow>((db, { user }) =>
  db
    .selectFrom("memberships")
    .innerJoin("users", "users.id", "memberships.user_id")
    .selectAll("memberships")
    .select("users.email")
    .where("user_id", "=", user)
    .where("group_role", "is not", null),
);

/** Who is a member of a team, and whether by groups. */
export const listMemberIds = statement<
  { space: string },
  Pick<Row<"memberships">, "user_id" | "group_role">
>((db, { space }) =>
  db.selectFrom("memberships").select(["user_id", "group_role"]).where("space_id", "=", space),
);

export const deleteMember = statement<{ space: string; user: string }>((db, { space, user }) =>
  db.deleteFrom("memberships").where("space_id", "=", space).where("user_id", "=", user),
);

export const deleteTokensOf = statement<{ space: string; user: string }, { id: string }>(
  (db, { space, user }) =>
    db
      .deleteFrom("access_tokens")
      .where("owner_id", "=", space)
      .where("created_by", "=", user)
      .returning("id"),
);

/** Registration tokens do not say who created them, so all are deleted. */
export async function deleteSecretsOfAdmin(
  { sql }: Queries,
  { space, user }: { readonly space: string; readonly user: string },
): Promise<void> {
  await sql
    .deleteFrom("invitations")
    .where("space_id", "=", space)
    .where("created_by", "=", user)
    .where("used_at", "is", null)
    .execute();
  await sql.deleteFrom("registration_tokens").where("owner_id", "=", space).execute();
}
