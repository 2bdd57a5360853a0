/**
 * Deleted configurations leave their history in small turns; and a configuration knows where its
 * last DEPLOY kept its state.
 */
import { sql, type Kysely } from "kysely";

/** Adds the columns. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `alter table specs add column deleted_owner_id text`,
  `alter table specs add column deployed_backend text`,
  `create index specs_deleted on specs (id) where deleted_owner_id is not null`,
  // What is left of a state that is being removed counts for the owner that it had.
  `drop trigger state_versions_removed`,
  `create trigger state_versions_removed after delete on state_versions begin
    insert into owner_usage (owner_id, state_bytes)
      select coalesce(deleted_owner_id, owner_id), -old.size_bytes from specs where id = old.spec_id
      on conflict (owner_id) do update set state_bytes = state_bytes + excluded.state_bytes;
  end`,
];
