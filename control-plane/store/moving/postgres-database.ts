/** A PostgreSQL database as one end of a move. It is locked, so that no control plane starts. */
import pg from "pg";
import { presenceLock } from "../engines/postgres-channel.ts";
import { connectionOf, storageErrorOf } from "../engines/postgres-connection.ts";
import { encodeText } from "../engines/postgres-text.ts";
import { batchBytes, batchRows, sizeOf, type MoveDatabase, type Value } from "./database.ts";

const quoted = pg.escapeIdentifier;

/** Undefined while a control plane or another move uses it. Tables are of this version. */
export async function openPostgresDatabase(url: string): Promise<MoveDatabase | undefined> {
  const client = new pg.Client(connectionOf(url));
  // A broken connection fails its query.
  client.on("error", () => undefined);
  const query = async <R>(text: string, values?: unknown[]): Promise<R[]> =>
    (await client.query<R & pg.QueryResultRow>(text, values)).rows;
  try {
    await client.connect();
    // A role from which row security hides rows gets an error, not a part of them.
    await query(
      `set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;
        set row_security = off`,
    );
    const [lock] = await query<{ taken: number }>(
      `select pg_try_advisory_lock(${presenceLock}) as taken`,
    );
    if (lock?.taken !== 1) {
      await client.end();
      return undefined;
    }
  } catch (error) {
    await client.end().catch(() => undefined);
    throw storageErrorOf(error);
  }

  const columns = await query<{ table: string; column: string; type: string; serial: string }>(`
    select c.table_name as table, c.column_name as column, c.data_type as type,
        case when c.is_identity = 'YES'
          then pg_get_serial_sequence(quote_ident(c.table_name), c.column_name) end as serial
      from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = current_schema() and t.table_type = 'BASE TABLE'
        and c.table_name <> 'schema_version'
      order by c.table_name collate "C", c.column_name collate "C"`);
  const keys = await query<{ from: string; to: string }>(`
    select distinct f.relname::text as "from", t.relname::text as "to"
      from pg_constraint join pg_class f on f.oid = conrelid join pg_class t on t.oid = confrelid
      where contype = 'f' and f.relnamespace = current_schema()::regnamespace`);
  const columnsOf = (name: string) => columns.filter(({ table }) => table === name);
  const serialOf = (name: string) => columnsOf(name).find(({ serial }) => serial !== null)?.serial;

  return {
    tables: async () =>
      [...new Set(columns.map(({ table }) => table))].map((name) => ({
        name,
        columns: columnsOf(name).map(({ column }) => column),
        references: keys.filter(({ from }) => from === name).map(({ to }) => to),
      })),
    count: async (table) => {
      const [row] = await query<{ count: number }>(
        `select count(*) as count from ${quoted(table)}`,
      );
      return row?.count ?? 0;
    },
    rows: async function* (table) {
      const list = table.columns.map(quoted).join(", ");
      await query("begin isolation level repeatable read read only");
      try {
        await query(`declare moved no scroll cursor for select ${list} from ${quoted(table.name)}`);
        // The first rows show how large they are.
        let next = 1;
        let largest = 1;
        for (;;) {
          const { rows } = await client.query<Value[]>({
            text: `fetch ${next} from moved`,
            rowMode: "array",
          });
          if (rows.length === 0) break;
          yield rows;
          largest = Math.max(largest, ...rows.map(sizeOf));
          next = Math.max(1, Math.min(batchRows, next * 4, Math.floor(batchBytes / largest)));
        }
      } finally {
        await query("rollback").catch(() => undefined);
      }
    },
    insert: async (table, rows) => {
      const types = new Map(columnsOf(table.name).map(({ column, type }) => [column, type]));
      const list = table.columns.map(quoted).join(", ");
      const lists = table.columns.map((column, at) => `$${at + 1}::${types.get(column)}[]`);
      await query(
        `insert into ${quoted(table.name)} (${list}) select * from unnest(${lists.join(", ")})`,
        table.columns.map((_, at) =>
          rows.map((row) => {
            const value = row[at] ?? null;
            return typeof value === "string" ? encodeText(value) : value;
          }),
        ),
      );
    },
    empty: async (table) => void (await query(`delete from ${quoted(table)}`)),
    change: async (table, work) => {
      await query("begin");
      try {
        await query(`alter table ${quoted(table)} disable trigger user`);
        await work();
        await query(`alter table ${quoted(table)} enable trigger user`);
        await query("commit");
      } catch (error) {
        await query("rollback").catch(() => undefined);
        throw error;
      }
    },
    lastNumber: async (table) => {
      const serial = serialOf(table);
      if (serial === undefined) return undefined;
      const [row] = await query<{ number: number }>(
        `select case when is_called then last_value else last_value - 1 end as number from ${serial}`,
      );
      return row?.number;
    },
    setLastNumber: async (table, number) => {
      await query("select setval($1::regclass, $2::bigint, $3::boolean)", [
        serialOf(table),
        Math.max(1, number),
        number > 0,
      ]);
    },
    analyze: async () => void (await query("analyze")),
    close: () => client.end().catch(() => undefined),
  };
}
