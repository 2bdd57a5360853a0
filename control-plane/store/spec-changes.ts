/** SQL of changing and deleting zones and specs. */
import type { Queries } from "./db.ts";
import { jobsBy } from "./indexed.ts";
import type { SpecRow, ZoneRow } from "./specs.ts";
import { statement } from "./statement.ts";

/** Saves a zone's name. */
export async function saveZone(
  tx: Queries,
  { id, name, updated_at }: Pick<ZoneRow, "id" | "name" | "updated_at">,
): Promise<void> {
  await tx.sql.updateTable("zones").set({ name, updated_at }).where("id", "=", id).execute();
}

/** Deletes a zone that has no specs. */
export async function deleteZone(tx: Queries, id: string): Promise<void> {
  await tx.sql.deleteFrom("zones").where("id", "=", id).execute();
}

/** Saves what a person may change of a spec. */
export async function saveSpec(tx: Queries, spec: SpecRow): Promise<void> {
  const { id, zone_id, cloud_identity_id, name, project_name, labels, definition, updated_at } =
    spec;
  await tx.sql
    .updateTable("specs")
    .set({ zone_id, cloud_identity_id, name, project_name, labels, definition, updated_at })
    .where("id", "=", id)
    .execute();
}

/** A job of the spec that is queued or that its runner may still work on. */
export const findUnreleased = statement<{ spec: string }, { id: string }>((db, { spec }) =>
  db
    .selectFrom("queue_heads")
    .select("job_id as id")
    .where("spec_id", "=", spec)
    .unionAll(
      db
        .selectFrom(jobsBy("jobs_unreleased_spec"))
        .select("id")
        .where("spec_id", "=", spec)
        .where("worker_id", "is not", null)
        .where("released_at", "is", null),
    )
    .limit(1),
);

/** Deletes a spec and its state; its jobs stay, without it. Answers the blobs that no row names any more. */
export async function deleteSpec({ sql: db }: Queries, id: string): Promise<string[]> {
  await db.updateTable("jobs").set({ spec_id: null }).where("spec_id", "=", id).execute();
  const states = await db
    .deleteFrom("state_versions")
    .where("spec_id", "=", id)
    .returning("blob")
    .execute();
  await db.deleteFrom("specs").where("id", "=", id).execute();
  return states.map(({ blob }) => blob);
}
