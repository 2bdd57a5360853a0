/** What needs a person is found by an index, however many configurations there are. */
import { sql, type Kysely } from "kysely";

/** Adds the index, with all that is read of a failed configuration. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index specs_failed on specs (owner_id, updated_at, id, name, error_message)
    where status = 'FAILED'`.execute(db);
}
