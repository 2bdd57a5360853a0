import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type InvitationRow = Row<"invitations"> & { readonly inviter: string };

export type OpenedInvitation = InvitationRow & {
  readonly team_name: string;
  readonly team_slug: string;
};

/** By its link, also a used or expired one. */
export const findInvitationByToken = statement<{ token_hash: string }, OpenedInvitation>(
  (db, { token_hash }) =>
    db
      .selectFrom("invitations")
      .innerJoin("users", "users.id", "invitations.created_by")
      .innerJoin("teams", "teams.id", "invitations.space_id")
      .selectAll("invitations")
      .select(["users.email as inviter", "teams.name as team_name", "teams.slug as team_slug"])
      .where("token_hash", "=", token_hash),
);

/** Uses an invitation up, in one statement: of two who use it at once, one gets a row. */
export const useInvitation = statement<{ id: string; now: number }, { id: string }>(
  (db, { id, now }) =>
    db
      .updateTable("invitations")
      .set({ used_at: now })
      .where("id", "=", id)
      .where("used_at", "is", null)
      .where("expires_at", ">", now)
      .returning("id"),
);

export function listOpenInvitations(
  { sql }: Queries,
  { space, now }: { readonly space: string; readonly now: number },
  before: string | undefined,
  limit: number,
): Promise<InvitationRow[]> {
  let query = sql
    .selectFrom("invitations")
    .innerJoin("users", "users.id", "invitations.created_by")
    .selectAll("invitations")
    .select("users.email as inviter")
    .where("space_id", "=", space)
    .where("used_at", "is", null)
    .where("expires_at", ">", now);
  if (before !== undefined) query = query.where("invitations.id", "<", before);
  return query.orderBy("invitations.id", "desc").limit(limit).execute();
}

export const countOpenInvitations = statement<{ space: string; now: number }, { count: number }>(
  (db, { space, now }) =>
    db
      .selectFrom("invitations")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("space_id", "=", space)
      .where("used_at", "is", null)
      .where("expires_at", ">", now),
);

export async function insertInvitation(
  { sql }: Queries,
  invitation: Row<"invitations">,
): Promise<void> {
  await sql.insertInto("invitations").values(invitation).execute();
}

/** Deletes the unused invitations of a team for these addresses, in small letters. */
export async function deleteInvitationsTo(
  { sql }: Queries,
  { space, addresses }: { readonly space: string; readonly addresses: readonly string[] },
): Promise<void> {
  if (addresses.length === 0) return;
  await sql
    .deleteFrom("invitations")
    .where("space_id", "=", space)
    .where("email", "in", addresses)
    .where("used_at", "is", null)
    .execute();
}

export const deleteInvitation = statement<
  { id: string; space: string; now: number },
  Pick<Row<"invitations">, "role" | "zones" | "email">
>((db, { id, space, now }) =>
  db
    .deleteFrom("invitations")
    .where("id", "=", id)
    .where("space_id", "=", space)
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .returning(["role", "zones", "email"]),
);
