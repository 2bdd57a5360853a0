/** SQL of a step of the wall clock: the times in the store from which something is measured. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { hour, minute } from "../../../common/units.ts";

/** The predecessor of a refresh token is valid for some seconds after it was replaced. */
const recentMilliseconds = minute;

/** When servers look at code hosts, and send to them, next. */
const dueTimes = {
  connections: ["last_poll_at", "poll_at", "busy_until", "quiet_until"],
  follows: ["look_at"],
  pull_requests: ["post_at"],
  job_changes: ["post_at"],
  deliveries: ["first_failed_at", "next_at"],
} as const;

/** A code host asks for less after too many requests, and a turn takes less. */
const longestQuiet = hour;

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
  for (const [table, names] of Object.entries(dueTimes))
    await sql`update ${sql.table(table)} set ${sql.join(
      names.map((name) => sql`${sql.ref(name)} = ${sql.ref(name)} + ${by}`),
    )} where ${sql.ref(names.at(-1)!)} is not null`.execute(db);
}

/** Whether the clock has stepped back since something was written. */
export async function isAnyInFuture({ sql: db }: Queries, now: number): Promise<boolean> {
  const { rows } = await sql`
    select 1 from workers
    where last_heartbeat_at > ${now} or last_call_at > ${now} or offline_at > ${now} or created_at > ${now}
    union all select 1 from connections where last_poll_at > ${now}
    union all select 1 from events where created_at > ${now}
    union all select 1 from deliveries where status = 'retrying' and sent_at > ${now}
    union all select 1 from schedules where updated_at > ${now} or last_at > ${now}
    limit 1`.execute(db);
  return rows.length > 0;
}

/**
 * Sets what is later than now to now. Which of two jobs of a configuration was claimed later
 * decides its status, so a claim that follows may not look earlier than one before it. Reads all
 * jobs: a step back is rare.
 */
export async function clampFuture(queries: Queries, now: number): Promise<void> {
  await clamp(queries, now, {
    workers: ["last_heartbeat_at", "last_call_at", "offline_at", "created_at"],
    jobs: ["claimed_at", "cancelled_at", "omitted_at"],
  });
}

/**
 * Makes due what was to be due after a time that is not over now. What comes too early is looked at
 * once more.
 */
export async function clampDue(queries: Queries, now: number): Promise<void> {
  const { connections: _, ...due } = dueTimes;
  await clamp(queries, now, { connections: ["last_poll_at", "poll_at"], ...due });
  await clamp(queries, now + longestQuiet, { connections: ["busy_until", "quiet_until"] });
}

async function clamp(
  { sql: db }: Queries,
  now: number,
  columns: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
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
