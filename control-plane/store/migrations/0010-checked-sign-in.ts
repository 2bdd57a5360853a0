/**
 * Accounts belong to the host of their provider, and deploy configurations that were not checked
 * are set aside.
 */
import { sql, type Kysely } from "kysely";

/** Rebuilds the accounts, renames the field. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // An empty host is replaced by the configured one at the next start of the server.
  `create table accounts_by_host (
    provider text not null, host text not null, subject text not null, user_id text not null references users(id), email text not null,
    access_token text not null, refresh_token text, token_expires_at bigint, created_at bigint not null,
    signed_in_at bigint not null, primary key (provider, host, subject))`,
  `insert into accounts_by_host
    (provider, host, subject, user_id, email, access_token, refresh_token, token_expires_at, created_at, signed_in_at)
    select provider, '', subject, user_id, email, access_token, refresh_token, token_expires_at, created_at, signed_in_at from accounts`,
  `drop table accounts`,
  `alter table accounts_by_host rename to accounts`,
  `create index accounts_user on accounts (user_id)`,
  // A registration could set it, unchecked, and so decide what a DESTROY_WORKER destroys: a person
  // sets it again.
  `update workers set metadata = json_set(json_remove(metadata, '$.deploy_configuration'),
      '$.unchecked_deploy_configuration', json_extract(metadata, '$.deploy_configuration'))
    where owner_id is not null and json_type(metadata, '$.deploy_configuration') is not null`,
];
