/** Debug logs of jobs; each is a blob. */
import { sql, type Kysely } from "kysely";

/** Adds the table, and the index by which a blob is found to be named. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `create table debug_logs (
    job_id text primary key references jobs(id), attempt integer not null, blob text not null, size_bytes bigint not null,
    sha256 text not null, created_at bigint not null)`,
  `create index debug_logs_blob on debug_logs (blob)`,
];
