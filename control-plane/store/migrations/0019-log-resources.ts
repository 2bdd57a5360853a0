/** Which resource a line of terraform's progress is about, as a field of the chunk. */
import { sql, type Kysely } from "kysely";

/** Adds the column, and finds these few of a log's chunks by an index. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `alter table log_chunks add column resource text`,
  `create index log_chunks_resource on log_chunks (job_id, id) where resource is not null`,
];
