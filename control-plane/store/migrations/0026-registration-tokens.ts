/** The index by which a user's registration tokens are listed. */
import { sql, type Kysely } from "kysely";

/** Adds the index. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index registration_tokens_owner on registration_tokens (owner_id, created_at, token_hash)`.execute(
    db,
  );
}
