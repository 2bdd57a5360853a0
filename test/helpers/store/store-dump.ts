/** Everything that a control plane has stored, as text, to show that something changed nothing. */
import { sql } from "kysely";
import type { Plane } from "../plane/plane.ts";

/**
 * Columns that a refusal may change, as `table.column`: counters, and when a worker last called.
 */
const counters = new Set(["cli_logins.wrong_guesses", "workers.last_call_at"]);

/** Returns every row of every table as a line, without these columns, and the number of blobs. */
export async function dump(plane: Plane): Promise<string[]> {
  const queries = plane.context.store.read.sql;
  const tables = await (
    plane.context.store.isShared
      ? sql<{ name: string }>`
        select table_name as name from information_schema.tables where table_schema = 'public' order by name`
      : sql<{ name: string }>`select name from sqlite_master where type = 'table' order by name`
  ).execute(queries);
  const lines = [`blobs ${await plane.blobs()}`];
  for (const { name } of tables.rows) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(
      queries,
    );
    // The server writes that row to see whether it can, when it is asked.
    const asked = rows.filter((row) => name !== "facts" || row["name"] !== "storage_checked_at");
    const kept = asked.map((row) =>
      JSON.stringify(row, (column, value: unknown) =>
        counters.has(`${name}.${column}`) ? undefined : value,
      ),
    );
    lines.push(...kept.toSorted().map((row) => `${name} ${row}`));
  }
  return lines;
}
