/** SQL of the metrics: each statement walks a small index, never all jobs. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { isPostgres } from "../dialect.ts";
import { heldByWorker } from "../indexed.ts";
import { statement } from "../statement.ts";

/** The status is a literal, or SQLite would not use the partial index. */
export const countQueued = statement<
  Record<string, never>,
  { count: number; oldest: number | null }
>((db) =>
  db
    .selectFrom("jobs")
    .select((eb) => [eb.fn.countAll<number>().as("count"), eb.fn.min("created_at").as("oldest")])
    .where("status", "=", sql.lit("QUEUED")),
);

/** The deliveries that are not ended, of events that have been sent to their rules. */
export const countDeliveries = statement<
  Record<string, never>,
  { count: number; oldest: number | null }
>((db) =>
  db
    .selectFrom("deliveries")
    .innerJoin("events", "events.id", "deliveries.event_id")
    .select((eb) => [
      eb.fn.countAll<number>().as("count"),
      eb.fn.min("events.created_at").as("oldest"),
    ])
    .where("status", "=", sql.lit("retrying" as const)),
);

/** Counts a cancelled job until its worker acknowledged it. */
export const countHeld = statement<Record<string, never>, { status: string; count: number }>((db) =>
  db
    .selectFrom(heldByWorker)
    .select((eb) => ["status", eb.fn.countAll<number>().as("count")])
    .where("worker_id", "is not", null)
    .where("released_at", "is", null)
    .groupBy("status"),
);

/** The fields from which the status of each worker follows. */
export const countWorkers = statement<
  Record<string, never>,
  { is_offline: number; is_draining: number; is_new: number; count: number }
>((db) =>
  db
    .selectFrom("workers")
    .select((eb) => [
      eb("offline_at", "is not", null).as("is_offline"),
      eb("draining_at", "is not", null).as("is_draining"),
      eb("last_heartbeat_at", "is", null).as("is_new"),
      eb.fn.countAll<number>().as("count"),
    ])
    .groupBy(["is_offline", "is_draining", "is_new"]),
);

/** The size of the database: of SQLite's file, or of all that PostgreSQL keeps for it. */
export async function databaseBytes({ sql: db }: Queries): Promise<number> {
  const query = isPostgres(db)
    ? sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
    : sql<{ bytes: number }>`
      select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`;
  const { rows } = await query.execute(db);
  return rows[0]?.bytes ?? 0;
}
