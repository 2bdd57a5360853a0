import { sql } from "kysely";
import type { Queries } from "../db.ts";

/** Epoch milliseconds: control planes compare times that others wrote. */
export async function findNow({ sql: db }: Queries): Promise<number> {
  const { rows } = await sql<{ now: number }>`
    select cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint) as now`.execute(db);
  return rows[0]!.now;
}
