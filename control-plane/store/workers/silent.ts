import { sql, type ExpressionBuilder, type Kysely, type RawBuilder } from "kysely";
import type { WorkerRow } from "../../domain/worker.ts";
import { heldByWorker } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Tables } from "../tables.ts";

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
export const markOffline = statement<
  { before: number; now: number },
  Pick<WorkerRow, "id" | "name" | "owner_id" | "ephemeral">
>((db, { before, now }) =>
  db
    .updateTable("workers")
    .set({ offline_at: now })
    .where("offline_at", "is", null)
    .where((where) => where(where.fn.coalesce("last_heartbeat_at", "created_at"), "<=", before))
    .returning(["id", "name", "owner_id", "ephemeral"]),
);

/** Workers that were OFFLINE, and silent, since `before`. */
const silentSince = (db: Kysely<Tables>, before: number) =>
  db
    .selectFrom("workers")
    .where("offline_at", "<=", before)
    .where((where) => where(where.fn.coalesce("last_call_at", sql.lit(0)), "<=", before));

const holdsJobs = ({ exists, selectFrom }: ExpressionBuilder<Tables, "workers">) =>
  exists(
    selectFrom(heldByWorker)
      .select("jobs.id")
      .whereRef("jobs.worker_id", "=", "workers.id")
      .where("jobs.worker_id", "is not", null)
      .where("jobs.released_at", "is", null),
  );

/** Those that hold jobs. */
export const findLostHolders = statement<{ before: number }, { id: string }>((db, { before }) =>
  silentSince(db, before).select("id").where(holdsJobs),
);

/** Those that hold none and are to be removed when they leave; so many at once. */
export const findLeftEphemeral = statement<{ before: number }, WorkerRow>((db, { before }) =>
  silentSince(db, before)
    .selectAll()
    .where("ephemeral", "=", sql.lit(1))
    .where((where) => where.not(holdsJobs(where)))
    .limit(100),
);

/** Goes from holder to holder by the index, so what one holds costs nothing. */
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
