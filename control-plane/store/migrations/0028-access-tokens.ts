/** Access tokens, with which pipelines call the API. */
import { sql, type Kysely } from "kysely";

/** Adds the table. */
export const up = (db: Kysely<unknown>): Promise<void> => addTable(db, "text");

/** Ids and names sort by their bytes there too. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => addTable(db, `text collate "C"`);

async function addTable(db: Kysely<unknown>, text: string): Promise<void> {
  const statements = [
    `create table access_tokens (
      id ${text} primary key, owner_id ${text} not null references users(id),
      created_by ${text} not null references users(id), name ${text} not null, role ${text} not null,
      prefix ${text} not null, token_hash ${text} not null unique, created_at bigint not null,
      expires_at bigint not null, last_used_at bigint, last_used_from ${text})`,
    `create unique index access_tokens_name on access_tokens (owner_id, name)`,
    `create index access_tokens_owner on access_tokens (owner_id, id)`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
