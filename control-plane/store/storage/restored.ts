import { sql } from "kysely";
import type { JobRow } from "../../domain/job.ts";
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

/** Jobs of all owners that wait or that a worker holds, oldest first. */
export const findAllUnreleased = statement<Record<string, never>, JobRow>((db) =>
  db
    .selectFrom("jobs")
    .selectAll()
    .where((where) =>
      where.or([
        where("status", "=", sql.lit("QUEUED" as const)),
        where.and([where("worker_id", "is not", null), where("released_at", "is", null)]),
      ]),
    )
    .orderBy("id"),
);

/** Removes and returns all access tokens: they may have been revoked. */
export const removeAllAccessTokens = ({
  sql: db,
}: Queries): Promise<Pick<Row<"access_tokens">, "id" | "owner_id" | "name">[]> =>
  db.deleteFrom("access_tokens").returning(["id", "owner_id", "name"]).execute();

/** Removes and returns all open invitations: they may have been used or revoked since. */
export const removeOpenInvitations = ({
  sql: db,
}: Queries): Promise<Pick<Row<"invitations">, "id" | "space_id" | "email">[]> =>
  db
    .deleteFrom("invitations")
    .where("used_at", "is", null)
    .returning(["id", "space_id", "email"])
    .execute();

/** Runs of schedules that wait for their time. */
export async function removeDueRuns({ sql: db }: Queries): Promise<void> {
  await db.deleteFrom("schedule_runs").where("due_at", "is not", null).execute();
}

/** Links, codes and registration tokens too: they may have been ended or used. */
export async function endAllSignIns(
  { sql: db }: Queries,
  now: number,
): Promise<Pick<Row<"logins">, "id" | "user_id" | "kind">[]> {
  for (const table of ["login_links", "cli_logins", "registration_tokens"] as const)
    await db.deleteFrom(table).execute();
  return db
    .updateTable("logins")
    .set({ revoked_at: now })
    .where("revoked_at", "is", null)
    .returning(["id", "user_id", "kind"])
    .execute();
}
