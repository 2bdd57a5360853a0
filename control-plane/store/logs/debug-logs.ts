/** SQL of debug logs. Their content is in blobs. */
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type DebugLogRow = Row<"debug_logs">;

export const findDebugLog = statement<{ job: string }, DebugLogRow>((db, { job }) =>
  db.selectFrom("debug_logs").selectAll().where("job_id", "=", job),
);

/** Stores the debug log of a job in place of one of an earlier attempt. */
export async function saveDebugLog({ sql: db }: Queries, row: DebugLogRow): Promise<void> {
  const { job_id: _, ...rest } = row;
  await db
    .insertInto("debug_logs")
    .values(row)
    .onConflict((conflict) => conflict.column("job_id").doUpdateSet(rest))
    .execute();
}

/** Removes the debug logs of these jobs; returns their blobs. */
export const deleteDebugLogs = (
  { sql: db }: Queries,
  jobs: readonly string[],
): Promise<{ blob: string }[]> =>
  db.deleteFrom("debug_logs").where("job_id", "in", jobs).returning("blob").execute();
