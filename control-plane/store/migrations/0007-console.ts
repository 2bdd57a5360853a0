/** What the console's pages ask for every few seconds is found by an index. */
import { sql, type Kysely } from "kysely";

/** Adds the indexes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `create index jobs_worker on jobs (worker_id, owner_id, id) where worker_id is not null`,
  // Few of a log's chunks are the runner's own lines, which say what step it has come to.
  `create index log_chunks_system on log_chunks (job_id, id) where stream_type = 'SYSTEM'`,
];
