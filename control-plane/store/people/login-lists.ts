/** SQL of a person's own logins. */
import type { Queries } from "../db.ts";
import { loginsBy } from "../indexed.ts";
import type { LoginRow } from "./logins.ts";

/** A page of the logins of a user that work now, newest first. */
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

/** Ends a login of the user; answers it, if there was one that worked. */
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
