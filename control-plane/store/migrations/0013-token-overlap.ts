/** The token that a rotation replaced works until it expires. */
import { sql, type Kysely } from "kysely";

/** Adds the columns. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `alter table workers add column old_token_hash text`,
  `alter table workers add column old_token_expires_at bigint`,
];
