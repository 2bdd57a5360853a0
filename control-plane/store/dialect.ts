/** What a statement writes differently for each engine; the rest is spelling (engines/). */
import { PostgresAdapter, type Kysely, type SelectQueryBuilder } from "kysely";
import type { Tables } from "./tables.ts";

/** Whether statements of this handle run on PostgreSQL. */
export const isPostgres = (db: Kysely<Tables>): boolean =>
  db.getExecutor().adapter instanceof PostgresAdapter;

/** For `Store.share`. SQLite has one writer, and nothing to lock. */
export const forUpdate = <T extends keyof Tables, O>(
  db: Kysely<Tables>,
  query: SelectQueryBuilder<Tables, T, O>,
): SelectQueryBuilder<Tables, T, O> => (isPostgres(db) ? query.forUpdate() : query);
