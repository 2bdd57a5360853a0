/**
 * Finds the workers whose deploy configuration has an archive as its source. Without the index,
 * retention read the metadata of every worker of a space once for each of its archives.
 */
import { sql, type Kysely } from "kysely";

/** Creates the index. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create index workers_archive on workers (json_extract(metadata, '$.deploy_configuration.snapshot.source.sha256'))`,
    )
    .execute(db);
}

/** The same for PostgreSQL. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => up(db);

export const isAdditive = true;
