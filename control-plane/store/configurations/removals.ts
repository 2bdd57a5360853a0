import { unchecked } from "../../domain/drift.ts";
import { sql } from "kysely";
import { deleteFollow } from "../connections/follows.ts";
import type { Queries } from "../db.ts";
import { deleteRulesOfSpec } from "../notifications/rules.ts";
import { jobsBy, specsBy, stateVersionsBy } from "../indexed.ts";
import { statement } from "../statement.ts";

/** A job of the spec that is queued, waits for approvals, or that its runner may still work on. */
export const findOpenOfSpec = statement<{ owner: string; spec: string }, { id: string }>(
  (db, { owner, spec }) =>
    db
      .selectFrom("queue_heads")
      .select("job_id as id")
      .where("spec_id", "=", spec)
      .unionAll(
        db
          .selectFrom(jobsBy("jobs_unapproved"))
          .select("id")
          .where("owner_id", "=", owner)
          .where("spec_id", "=", spec)
          .where("status", "=", sql.lit("QUEUED" as const))
          .where("unapproved", "=", sql.lit(1 as const)),
      )
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

/**
 * Takes a spec from its owner: from now on it cannot be found, and its names, zone and identity are
 * free. The row stays while jobs and states refer to it.
 */
export async function abandonSpec(tx: Queries, id: string): Promise<void> {
  const noOwner = { id: "", created_at: 0 };
  await tx.sql
    .insertInto("users")
    .values({ ...noOwner, email: "" })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx.sql
    .insertInto("zones")
    .values({ ...noOwner, owner_id: "", name: "", updated_at: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx.run(detachSets, { id });
  await tx.run(deleteFollow, { spec: id });
  await tx.run(deleteRulesOfSpec, { spec: id });
  await tx.run(deleteSchedules, { id });
  await tx.run(deleteRuns, { id });
  await tx.run(moveToNobody, { id });
}

const detachSets = statement<{ id: string }>((db, { id }) =>
  db.deleteFrom("variable_set_attachments").where("spec_id", "=", id),
);

/** Those of the spec alone; its expiry is one of them. */
const deleteSchedules = statement<{ id: string }>((db, { id }) =>
  db.deleteFrom("schedules").where("spec_id", "=", id),
);

const deleteRuns = statement<{ id: string }>((db, { id }) =>
  db.deleteFrom("schedule_runs").where("spec_id", "=", id),
);

const moveToNobody = statement<{ id: string }>((db, { id }) =>
  db
    .updateTable("specs")
    .set((set) => ({
      deleted_owner_id: set.ref("owner_id"),
      ...unchecked,
      owner_id: sql.lit(""),
      zone_id: sql.lit(""),
      cloud_identity_id: null,
      name: set.ref("id"),
      project_name: set.ref("id"),
      definition: sql.lit("{}"),
      definition_id: null,
      expires_at: null,
      version: set("version", "+", 1),
    }))
    .where("id", "=", id)
    .where("deleted_owner_id", "is", null),
);

export const findAbandoned = statement<Record<string, never>, { id: string }>((db) =>
  db
    .selectFrom(specsBy("specs_deleted"))
    .select("id")
    .where("deleted_owner_id", "is not", null)
    .limit(1),
);

/** Deletes up to `limit` versions of a spec's state. Returns their blobs. */
export const deleteSomeStates = statement<{ spec: string; limit: number }, { blob: string }>(
  (db, { spec, limit }) =>
    db
      .deleteFrom("state_versions")
      .where("id", "in", (states) =>
        states
          .selectFrom(stateVersionsBy("state_versions_spec"))
          .select("id")
          .where("spec_id", "=", spec)
          .orderBy("id")
          .limit(limit),
      )
      .returning("blob"),
);

/** Removes the spec from up to `limit` of its jobs, which stay. Returns them. */
export const detachSomeJobs = statement<{ spec: string; limit: number }, { id: string }>(
  (db, { spec, limit }) =>
    db
      .updateTable("jobs")
      .set({ spec_id: null })
      .where("id", "in", (jobs) =>
        jobs
          .selectFrom(jobsBy("jobs_spec"))
          .select("id")
          .where("spec_id", "=", spec)
          .orderBy("id")
          .limit(limit),
      )
      .returning("id"),
);

/** Deletes a spec that neither a job nor a state refers to. */
export const deleteSpec = statement<{ id: string }>((db, { id }) =>
  db.deleteFrom("specs").where("id", "=", id),
);
