/**
 * Large definitions in rows of their own, which are written before the transaction that names them
 * (services/definitions.ts). Rows that have a large definition already keep it until it changes.
 */
import { sql, type Kysely } from "kysely";

/** Adds the tables, and triggers that note which definitions are not named. */
export const up = (db: Kysely<unknown>): Promise<void> =>
  run(db, [...tables("text"), ...naming.flatMap(sqliteTriggers)]);

/** The same for PostgreSQL. Sealed values cannot be compressed. */
export async function upPostgres(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`
    select quote_ident(current_schema()) as schema`.execute(db);
  await run(db, [
    ...tables(`text collate "C"`),
    `alter table definitions alter column content set storage external`,
    `create function definitions_named() returns trigger language plpgsql
      security definer set search_path = ${rows[0]!.schema}, pg_temp as $$ begin
      if tg_op <> 'INSERT' then
        insert into loose_definitions select old.definition_id, 0 where old.definition_id is not null;
      end if;
      if tg_op <> 'DELETE' then
        delete from loose_definitions where id = new.definition_id;
        if not found and new.definition_id is not null then
          raise exception 'the definition % does not exist any more', new.definition_id;
        end if;
      end if;
      return null;
    end $$`,
    ...naming.flatMap(postgresTriggers),
    `alter table definitions enable row level security`,
    `create policy spaces on definitions using (
      exists (select from specs where specs.id = definitions.about)
      or exists (select from variable_sets where variable_sets.id = definitions.about)
      or exists (select from jobs where jobs.id = definitions.about))`,
    `alter table loose_definitions enable row level security`,
    `create policy spaces on loose_definitions using (false)`,
  ]);
}

async function run(db: Kysely<unknown>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const naming = ["specs", "variable_sets", "job_snapshots"];

const tables = (text: string): string[] => [
  `create table definitions (
    id ${text} primary key, about ${text} not null, bytes bigint not null, content ${text} not null)`,
  `create table loose_definitions (id ${text} primary key, remove_at bigint not null)`,
  `create index loose_definitions_time on loose_definitions (remove_at)`,
  ...naming.map((table) => `alter table ${table} add column definition_id ${text}`),
];

const sqliteTriggers = (table: string): string[] => {
  const name = `
    select raise(abort, 'the definition does not exist any more')
      where new.definition_id is not null
        and not exists (select 1 from loose_definitions where id = new.definition_id);
    delete from loose_definitions where id = new.definition_id;`;
  const leave = `insert into loose_definitions select old.definition_id, 0 where old.definition_id is not null;`;
  return [
    `create trigger ${table}_definition_new after insert on ${table}
      when new.definition_id is not null begin ${name} end`,
    `create trigger ${table}_definition_changed after update of definition_id on ${table}
      when new.definition_id is not old.definition_id begin ${leave} ${name} end`,
    `create trigger ${table}_definition_gone after delete on ${table}
      when old.definition_id is not null begin ${leave} end`,
  ];
};

const postgresTriggers = (table: string): string[] => {
  const trigger = (suffix: string, when: string, condition: string) =>
    `create trigger ${table}_definition_${suffix} after ${when} on ${table} for each row
      when (${condition}) execute function definitions_named()`;
  return [
    trigger("new", "insert", "new.definition_id is not null"),
    trigger(
      "changed",
      "update of definition_id",
      "new.definition_id is distinct from old.definition_id",
    ),
    trigger("gone", "delete", "old.definition_id is not null"),
  ];
};
