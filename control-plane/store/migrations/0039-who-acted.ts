/**
 * Who cancelled a job, and who pushed or rolled back a state. The audit log has it too, but stays in
 * its space when a zone moves to another one.
 */
import { sql, type Kysely } from "kysely";

/** Adds the columns, and finds in the audit log who it was so far. */
export const up = (db: Kysely<unknown>): Promise<void> =>
  run(db, [...columns("text", "integer"), ...fill("sqlite")]);

/** The same for PostgreSQL. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> =>
  run(db, [...columns(`text collate "C"`, "bigint"), ...fill("postgres")]);

export const isAdditive = true;

async function run(db: Kysely<unknown>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const columns = (text: string, integer: string): string[] => [
  `alter table jobs add column cancelled_by ${text}`,
  `alter table state_versions add column stored_by ${text}`,
  `alter table state_versions add column copy_of ${integer}`,
];

/**
 * The entries of these actions, in every space, because zones may have moved since. There are far
 * fewer than jobs, and the index of the actions finds them: a cross join keeps its order on SQLite.
 */
const entriesOf = (...actions: readonly string[]): string => `
  from spaces cross join audit_entries
  where audit_entries.owner_id = spaces.id and action in (${actions.map((action) => `'${action}'`).join(", ")})`;

/**
 * With a million jobs of which 50,000 were cancelled it takes 1 s on SQLite and 4 s on PostgreSQL.
 * Without "in", SQLite would read every job and every version. With it, PostgreSQL without statistics
 * compared every entry with every other one: 161 s.
 */
export function fill(engine: "sqlite" | "postgres"): string[] {
  const among = (key: string, fields: string): string =>
    engine === "sqlite" ? `${key} in (select ${fields} from entries) and` : "";
  return [
    `with entries as materialized (select target_id, actor_name ${entriesOf("job.cancel")})
    update jobs set cancelled_by = entries.actor_name from entries
      where ${among("jobs.id", "target_id")} jobs.id = entries.target_id and jobs.cancelled_at is not null`,
    // An entry has the time of the version that it is about.
    `with entries as materialized (
      select target_id, actor_name, audit_entries.created_at,
        cast(json_extract(details, '$.serial') as bigint) as serial,
        cast(json_extract(details, '$.from_serial') as bigint) as from_serial
      ${entriesOf("state.push", "state.roll_back")})
    update state_versions set stored_by = entries.actor_name, copy_of = entries.from_serial from entries
      where ${among("(state_versions.spec_id, state_versions.serial)", "target_id, serial")}
        state_versions.spec_id = entries.target_id and state_versions.serial = entries.serial
        and state_versions.created_at = entries.created_at and state_versions.job_id is null`,
  ];
}
