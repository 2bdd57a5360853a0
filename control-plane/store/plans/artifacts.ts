/** SQL of plan artifacts. Their content is in blobs. */
import type { Queries } from "../db.ts";
import { heldByWorker } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type ArtifactRow = Row<"plan_artifacts">;

export const findArtifact = statement<{ job: string }, ArtifactRow>((db, { job }) =>
  db.selectFrom("plan_artifacts").selectAll().where("job_id", "=", job),
);

/** Stores the artifact of a job in place of one of an earlier attempt. */
export async function saveArtifact({ sql: db }: Queries, row: ArtifactRow): Promise<void> {
  const { job_id: _, ...rest } = row;
  await db
    .insertInto("plan_artifacts")
    .values(row)
    .onConflict((conflict) => conflict.column("job_id").doUpdateSet(rest))
    .execute();
}

/** A DEPLOY of this plan that the worker holds: a runner that applies a plan may read it. */
export const findHeldUseOfPlan = statement<{ plan: string; worker: string }, { id: string }>(
  (db, { plan, worker }) =>
    db
      .selectFrom(heldByWorker)
      .select("id")
      .where("plan_job_id", "=", plan)
      .where("worker_id", "=", worker)
      .where("released_at", "is", null),
);
