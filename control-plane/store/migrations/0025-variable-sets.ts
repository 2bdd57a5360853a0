/** Values that several configurations share, attached to configurations or to whole zones. */
import { sql, type Kysely } from "kysely";

/** Adds the tables. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `create table variable_sets (
    id text primary key, owner_id text not null references users(id), name text not null,
    definition text not null, created_at bigint not null, updated_at bigint not null)`,
  `create unique index variable_sets_name on variable_sets (owner_id, name)`,
  `create index variable_sets_owner on variable_sets (owner_id, id)`,
  `create table variable_set_attachments (
    set_id text not null references variable_sets(id) on delete cascade,
    zone_id text references zones(id) on delete cascade,
    spec_id text references specs(id) on delete cascade,
    check ((zone_id is null) <> (spec_id is null)))`,
  `create unique index variable_set_zones on variable_set_attachments (zone_id, set_id) where zone_id is not null`,
  `create unique index variable_set_specs on variable_set_attachments (spec_id, set_id) where spec_id is not null`,
  `create index variable_set_attachments_set on variable_set_attachments (set_id)`,
];
