/** SQL of plan artifacts and uploaded archives. Their content is in blobs. */
import type { Queries } from "../db.ts";
import { heldByWorker } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type ArtifactRow = Row<"plan_artifacts">;
export type ArchiveRow = Row<"archives">;

/** The plan artifact of a job. */
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

/** One archive of an owner. */
export const findArchive = statement<{ owner: string; sha256: string }, ArchiveRow>(
  (db, { owner, sha256 }) =>
    db
      .selectFrom("archives")
      .selectAll()
      .where("owner_id", "=", owner)
      .where("sha256", "=", sha256),
);

/** Adds an archive, or begins its time anew if it is there; answers whether it is new for its owner. */
export async function addArchive({ sql: db }: Queries, row: ArchiveRow): Promise<boolean> {
  const added = await db
    .insertInto("archives")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["owner_id", "sha256"]).doUpdateSet({ named_at: row.named_at }),
    )
    .returning("blob")
    .executeTakeFirstOrThrow();
  return added.blob === row.blob;
}
