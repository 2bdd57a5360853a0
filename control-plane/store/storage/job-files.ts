/** SQL of the files that a runner stores of a job, one of each kind. Their content is in blobs. */
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type JobFiles = "plan_artifacts" | "debug_logs";
export type JobFileRow = Row<JobFiles>;

const ofJob = (table: JobFiles) =>
  statement<{ job: string }, JobFileRow>((db, { job }) =>
    db.selectFrom(table).selectAll().where("job_id", "=", job),
  );

export const findArtifact = ofJob("plan_artifacts");
export const findDebugLog = ofJob("debug_logs");
export const findJobFile = { plan_artifacts: findArtifact, debug_logs: findDebugLog };

/** Stores the file of a job in place of one of an earlier attempt. */
export async function saveJobFile(
  { sql: db }: Queries,
  table: JobFiles,
  row: JobFileRow,
): Promise<void> {
  const { job_id: _, ...rest } = row;
  await db
    .insertInto(table)
    .values(row)
    .onConflict((conflict) => conflict.column("job_id").doUpdateSet(rest))
    .execute();
}
