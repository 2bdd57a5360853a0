/** The audit log. */
import { sql, type Kysely } from "kysely";

/** Adds its table. It refers to no other table: an entry outlives what it names. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table audit_entries (
    id text primary key, owner_id text, action text not null, actor_kind text not null, actor_id text, actor_name text,
    target_id text, target_name text, details text not null, ip_address text, user_agent text, request_id text,
    created_at bigint not null)`.execute(db);
  await sql`create index audit_entries_owner on audit_entries (owner_id, id)`.execute(db);
}
