/** Logs of finished jobs are archived: their text is in a blob, and this table names it. */
import { sql, type Kysely } from "kysely";

/** Adds the table, and the index by which a blob is found to be named. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `create table log_archives (
    job_id text primary key references jobs(id), blob text not null, size_bytes bigint not null, marks_at bigint not null,
    index_at bigint not null, last_id bigint not null, last_seq bigint, last_at bigint not null)`,
  `create index log_archives_blob on log_archives (blob)`,
];
