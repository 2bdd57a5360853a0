/** SQL of a step of the wall clock: the times in the store from which something is measured. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { minute } from "../../../common/units.ts";

/** The predecessor of a refresh token is valid for some seconds after it was replaced. */
const recentMilliseconds = minute;

/** Moves every such time by as much as the clock. `now` is the time before the step. */
export async function moveTimes({ sql: db }: Queries, by: number, now: number): Promise<void> {
  await sql`
    update workers set
      last_heartbeat_at = last_heartbeat_at + ${by},
      last_call_at = last_call_at + ${by},
      offline_at = offline_at + ${by},
      old_token_expires_at = old_token_expires_at + ${by},
      created_at = case when last_heartbeat_at is null then created_at + ${by} else created_at end`.execute(
    db,
  );
  await sql`
    update jobs set
      claimed_at = claimed_at + ${by},
      cancelled_at = cancelled_at + ${by},
      omitted_at = omitted_at + ${by}
    where worker_id is not null and released_at is null`.execute(db);
  for (const table of ["cli_logins", "login_links", "registration_tokens"] as const)
    await sql`update ${sql.table(table)} set expires_at = expires_at + ${by} where expires_at > ${now}`.execute(
      db,
    );
  await sql`update logins set rotated_at = rotated_at + ${by} where rotated_at > ${now - recentMilliseconds}`.execute(
    db,
  );
}

/** Whether the clock has stepped back since something was written. */
export async function isAnyInFuture({ sql: db }: Queries, now: number): Promise<boolean> {
  const { rows } = await sql`
    select 1 from workers
    where last_heartbeat_at > ${now} or last_call_at > ${now} or offline_at > ${now} or created_at > ${now}
    limit 1`.execute(db);
  return rows.length > 0;
}

/**
 * Sets what is later than now to now. Which of two jobs of a configuration was claimed later
 * decides its status, so a claim that follows may not look earlier than one before it. Reads all
 * jobs: a step back is rare.
 */
export async function clampFuture({ sql: db }: Queries, now: number): Promise<void> {
  const columns = {
    workers: ["last_heartbeat_at", "last_call_at", "offline_at", "created_at"],
    jobs: ["claimed_at", "cancelled_at", "omitted_at"],
  } as const;
  for (const [table, names] of Object.entries(columns))
    await sql`update ${sql.table(table)} set ${sql.join(
      names.map(
        (name) => sql`${sql.ref(name)} =
          case when ${sql.ref(name)} > ${now} then ${now} else ${sql.ref(name)} end`,
      ),
    )} where ${sql.join(
      names.map((name) => sql`${sql.ref(name)} > ${now}`),
      sql` or `,
    )}`.execute(db);
}
