/** SQL of workers that make no calls, and of the jobs they hold. */
import { sql, type RawBuilder } from "kysely";
import { heldByWorker } from "../indexed.ts";
import { statement } from "../statement.ts";

/** A worker that `markOffline` would mark. */
export const findSilent = statement<{ before: number }, { id: string }>((db, { before }) =>
  db
    .selectFrom("workers")
    .select("id")
    .where("offline_at", "is", null)
    .where((where) => where(where.fn.coalesce("last_heartbeat_at", "created_at"), "<=", before))
    .limit(1),
);

/** Marks workers OFFLINE whose last call is older than `before`. Returns them. */
export const markOffline = statement<{ before: number; now: number }, { id: string; name: string }>(
  (db, { before, now }) =>
    db
      .updateTable("workers")
      .set({ offline_at: now })
      .where("offline_at", "is", null)
      .where((where) => where(where.fn.coalesce("last_heartbeat_at", "created_at"), "<=", before))
      .returning(["id", "name"]),
);

/** Workers that hold jobs and were OFFLINE, and silent, since `before`. */
export const findLostHolders = statement<{ before: number }, { id: string }>((db, { before }) =>
  db
    .selectFrom("workers")
    .select("id")
    .where("offline_at", "<=", before)
    .where((where) => where(where.fn.coalesce("last_call_at", sql.lit(0)), "<=", before))
    .where((where) =>
      where.exists(
        where
          .selectFrom(heldByWorker)
          .select("jobs.id")
          .whereRef("jobs.worker_id", "=", "workers.id")
          .where("jobs.worker_id", "is not", null)
          .where("jobs.released_at", "is", null),
      ),
    ),
);

/**
 * Workers that were removed and whose jobs are still held in their name. Goes from holder to holder
 * by the index, so what one of them holds costs nothing.
 */
export const findRemovedHolders = statement<Record<string, never>, { id: string }>((db) => {
  const query = sql`with recursive holders (id) as (
      select ${holderAfter(sql`''`)}
      union all
      select ${holderAfter(sql`holders.id`)} from holders where holders.id is not null)
    select id from holders
    where id is not null and not exists (select 1 from workers where workers.id = holders.id)`;
  return { compile: () => query.compile(db) };
});

const holderAfter = (id: RawBuilder<unknown>) => sql`(
  select min(worker_id) from jobs indexed by jobs_unreleased_worker
  where worker_id > ${id} and worker_id is not null and released_at is null)`;
