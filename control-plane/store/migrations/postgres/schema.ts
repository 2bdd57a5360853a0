/**
 * PostgreSQL's schema of 0.2.0. test/control-plane/store/engines/postgres.process.test.ts compares
 * the tables, columns and indexes of both engines.
 */
import { sql, type Kysely } from "kysely";
import { functions } from "./functions.ts";
import { indexes } from "./indexes.ts";
import { rowSecurity } from "./row-security.ts";
import { tables } from "./tables.ts";
import { triggers } from "./triggers.ts";

/** Creates everything in an empty database. */
export async function createPostgresSchema(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`
    select quote_ident(current_schema()) as schema`.execute(db);
  const { schema } = rows[0]!;
  for (const statement of [
    ...functions,
    ...tables,
    ...indexes,
    ...triggers(schema),
    ...rowSecurity,
  ])
    await sql.raw(statement).execute(db);
}
