/** What a person's logins are judged by after the sign-in, and whether an operator blocked the person. */
import { sql, type Kysely } from "kysely";

/** Adds the columns. Null: nothing was asked or blocked; the addresses of older accounts are not known. */
export const up = (db: Kysely<unknown>): Promise<void> => add(db, "text", "integer");

/** The same for PostgreSQL. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> =>
  add(db, `text collate "C"`, "bigint");

export const isAdditive = true;

async function add(db: Kysely<unknown>, text: string, integer: string): Promise<void> {
  for (const statement of [
    `alter table users add column asked_at ${integer}`,
    `alter table users add column unanswered_since ${integer}`,
    `alter table users add column allowed_group ${text}`,
    `alter table users add column blocked_at ${integer}`,
    `alter table accounts add column verified ${text}`,
    `create index users_blocked on users (blocked_at) where blocked_at is not null`,
  ])
    await sql.raw(statement).execute(db);
}
