/** Spaces: what has an owner belongs to a person or to a team. */
import { sql, type Kysely } from "kysely";

/**
 * Adds the tables. The space of a person has the id of the user, so everything keeps its owner, but
 * the owner of a team's things is no user: the references are changed in the schema's text, which
 * costs the same at any history (https://www.sqlite.org/lang_altertable.html#otheralter). Needs a
 * connection in unsafe mode (engines/sqlite.ts).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await run(db, [
    `pragma writable_schema = on`,
    `update sqlite_schema set sql = replace(replace(sql,
      'owner_id text not null references users(id)', 'owner_id text not null references spaces(id)'),
      'owner_id text references users(id)', 'owner_id text references spaces(id)') where type = 'table'`,
    `pragma writable_schema = reset`,
    ...tables("text"),
    `create trigger users_space after insert on users begin
      insert into spaces (id) values (new.id);
    end`,
  ]);
}

/** The same for PostgreSQL. */
export async function upPostgres(db: Kysely<unknown>): Promise<void> {
  await run(db, [
    // Ids sort by their bytes there too.
    ...tables(`text collate "C"`),
    `create function users_space() returns trigger language plpgsql as $$
      begin insert into spaces (id) values (new.id); return null; end $$`,
    `create trigger users_space after insert on users for each row execute function users_space()`,
    ...owned.map(
      (table) => `alter table ${table} drop constraint ${table}_owner_id_fkey,
        add constraint ${table}_owner_id_fkey foreign key (owner_id) references spaces (id)`,
    ),
  ]);
}

/** The tables whose rows belong to a space. */
const owned = [
  "access_tokens",
  "archives",
  "cloud_identities",
  "jobs",
  "registration_tokens",
  "specs",
  "variable_sets",
  "workers",
  "zones",
];

const tables = (text: string) => [
  `create table spaces (id ${text} primary key)`,
  `insert into spaces (id) select id from users`,
  `create table teams (
    id ${text} primary key references spaces(id), slug ${text} not null unique, name ${text} not null,
    created_at bigint not null)`,
  `create table memberships (
    space_id ${text} not null references teams(id) on delete cascade, user_id ${text} not null references users(id),
    role ${text} not null, joined_at bigint not null, invited_by ${text} references users(id),
    primary key (space_id, user_id))`,
  `create index memberships_user on memberships (user_id, space_id)`,
  `create table invitations (
    id ${text} primary key, space_id ${text} not null references teams(id) on delete cascade,
    token_hash ${text} not null unique, role ${text} not null, email ${text},
    created_by ${text} not null references users(id), created_at bigint not null, expires_at bigint not null,
    used_at bigint)`,
  `create index invitations_space on invitations (space_id, id)`,
];

async function run(db: Kysely<unknown>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
