/** A SQLite file as one end of a move. The caller holds its lock. */
import Database from "better-sqlite3";
import {
  batchBytes,
  batchRows,
  sizeOf,
  type MovedRow,
  type MoveDatabase,
  type Value,
} from "./database.ts";

const quoted = (name: string): string => `"${name}"`;

/** Opens a database that has this version's tables. */
export function openSqliteDatabase(file: string): MoveDatabase {
  const database = new Database(file, { fileMustExist: true });
  database.pragma("foreign_keys = ON");
  database.pragma("synchronous = FULL");
  const strings = (sql: string, ...values: string[]): string[] =>
    database
      .prepare(sql)
      .pluck()
      .all(...values) as string[];

  return {
    tables: async () =>
      strings(
        `select name from sqlite_schema
          where type = 'table' and name not like 'sqlite!_%' escape '!' and name <> 'schema_version'
          order by name`,
      ).map((name) => ({
        name,
        columns: strings("select name from pragma_table_info(?) order by name", name),
        references: strings(`select distinct "table" from pragma_foreign_key_list(?)`, name),
      })),
    count: async (table) =>
      database
        .prepare(`select count(*) from ${quoted(table)}`)
        .pluck()
        .get() as number,
    rows: async function* ({ name, columns }) {
      const all = database
        .prepare(`select ${columns.map(quoted).join(", ")} from ${quoted(name)}`)
        .raw()
        .iterate() as IterableIterator<Value[]>;
      let batch: MovedRow[] = [];
      let bytes = 0;
      for (const row of all) {
        batch.push(row);
        bytes += sizeOf(row);
        if (batch.length < batchRows && bytes < batchBytes) continue;
        yield batch;
        [batch, bytes] = [[], 0];
      }
      if (batch.length > 0) yield batch;
    },
    insert: async ({ name, columns }, rows) => {
      const places = columns.map(() => "?").join(", ");
      const insert = database.prepare(
        `insert into ${quoted(name)} (${columns.map(quoted).join(", ")}) values (${places})`,
      );
      for (const row of rows) insert.run(...row);
    },
    empty: async (table) => void database.prepare(`delete from ${quoted(table)}`).run(),
    change: async (table, work) => {
      const triggers = database
        .prepare("select name, sql from sqlite_schema where type = 'trigger' and tbl_name = ?")
        .all(table) as { name: string; sql: string }[];
      database.exec("begin immediate");
      try {
        for (const { name } of triggers) database.exec(`drop trigger ${quoted(name)}`);
        await work();
        for (const { sql } of triggers) database.exec(sql);
        database.exec("commit");
      } catch (error) {
        if (database.inTransaction) database.exec("rollback");
        throw error;
      }
    },
    lastNumber: async (table) =>
      database.prepare("select seq from sqlite_sequence where name = ?").pluck().get(table) as
        | number
        | undefined,
    setLastNumber: async (table, number) => {
      database.prepare("delete from sqlite_sequence where name = ?").run(table);
      database.prepare("insert into sqlite_sequence (name, seq) values (?, ?)").run(table, number);
    },
    // SQLite plans without it: the server's queries name their indexes.
    analyze: async () => undefined,
    close: async () => void database.close(),
  };
}
