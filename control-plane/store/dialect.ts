/** What a statement writes differently for each engine; the rest is spelling (engines/). */
import {
  PostgresAdapter,
  sql,
  type Kysely,
  type RawBuilder,
  type SelectQueryBuilder,
} from "kysely";
import type { Tables } from "./tables.ts";

/** Whether statements of this handle run on PostgreSQL. */
export const isPostgres = (db: Kysely<Tables>): boolean =>
  db.getExecutor().adapter instanceof PostgresAdapter;

/**
 * `in` the few ids that a query finds. PostgreSQL would read a whole table to compare it with them; an
 * array it looks up by the index.
 */
export const inFew = (db: Kysely<Tables>, ids: RawBuilder<unknown>): RawBuilder<unknown> =>
  isPostgres(db) ? sql`= any(array(${ids}))` : sql`in (${ids})`;

/** For `Store.share`. SQLite has one writer, and nothing to lock. */
export const forUpdate = <T extends keyof Tables, O>(
  db: Kysely<Tables>,
  query: SelectQueryBuilder<Tables, T, O>,
): SelectQueryBuilder<Tables, T, O> => (isPostgres(db) ? query.forUpdate() : query);
