/**
 * PostgreSQL's schema, made in one step: what the migrations of SQLite have led to. Later
 * migrations carry both spellings. test/control-plane/store/engines/postgres.process.test.ts
 * compares the tables, columns and indexes of both engines.
 */
import { sql, type Kysely } from "kysely";
import { functions } from "./functions.ts";
import { indexes } from "./indexes.ts";
import { tables } from "./tables.ts";
import { triggers } from "./triggers.ts";

/** How many of SQLite's migrations it contains. */
export const version = 25;

/** Creates everything in an empty database. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...functions, ...tables, ...indexes, ...triggers])
    await sql.raw(statement).execute(db);
}
