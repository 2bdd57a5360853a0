/** Drift of configurations: the columns `drift_…` of specs. */
import { sql } from "kysely";
import type { DriftStatus } from "../../../protocol/drift.ts";
import type { DriftColumns } from "../../domain/drift.ts";
import type { Queries } from "../db.ts";
import { jobsBy, specsBy } from "../indexed.ts";
import { isSeen } from "../spaces.ts";
import { statement } from "../statement.ts";
import type { SpecRow } from "./configurations.ts";

export type DriftRow = Pick<SpecRow, "id" | "owner_id" | "zone_id" | "name" | keyof DriftColumns>;

export const findDrift = statement<{ id: string }, DriftRow>((db, { id }) =>
  db
    .selectFrom("specs")
    .select(["id", "owner_id", "zone_id", "name", "drift_status", "drift_since"])
    .select(["drift_checked_at", "drift_job_id", "drift_resources", "drift_told"])
    .where("id", "=", id),
);

export async function saveDrift(
  { sql: db }: Queries,
  id: string,
  columns: DriftColumns,
): Promise<void> {
  await db.updateTable("specs").set(columns).where("id", "=", id).execute();
}

/** The check of a spec that has not ended. */
export const findOpenCheck = statement<{ spec: string }, { id: string }>((db, { spec }) =>
  db
    .selectFrom(jobsBy("jobs_drift_check"))
    .select("id")
    .where("spec_id", "=", spec)
    .where("drift_check", "=", sql.lit(1))
    .where("ended_at", "is", null)
    .orderBy("id")
    .limit(1),
);

export async function listSpecIdsByDrift(
  { sql: db }: Queries,
  owner: string,
  status: DriftStatus,
  before: string | undefined,
  limit: number,
): Promise<string[]> {
  let query = db
    .selectFrom(specsBy("specs_drift"))
    .select("id")
    .where("owner_id", "=", owner)
    .where("drift_status", "=", status)
    .where(isSeen(owner, "zone_id", "id"));
  if (before !== undefined) query = query.where("id", "<", before);
  const rows = await query.orderBy("id", "desc").limit(limit).execute();
  return rows.map(({ id }) => id);
}

export type DriftedSpec = Pick<DriftRow, "id" | "name" | "drift_job_id" | "drift_resources"> & {
  readonly drift_since: number;
};

/** Those of an owner that differ from what was deployed, the newest configuration first. */
export function listDrifted(
  { sql: db }: Queries,
  owner: string,
  limit: number,
): Promise<DriftedSpec[]> {
  return db
    .selectFrom(specsBy("specs_drift"))
    .select(["id", "name", "drift_job_id", "drift_resources"])
    .select((eb) => eb.ref("drift_since").$notNull().as("drift_since"))
    .where("owner_id", "=", owner)
    .where("drift_status", "=", sql.lit("drifted" as const))
    .where(isSeen(owner, "zone_id", "id"))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

/** How many of an owner have drifted, counted up to a limit. */
export const countDrifted = statement<{ owner: string; limit: number }, { count: number }>(
  (db, { owner, limit }) =>
    db
      .selectFrom(
        db
          .selectFrom(specsBy("specs_drift"))
          .select("id")
          .where("owner_id", "=", owner)
          .where("drift_status", "=", sql.lit("drifted" as const))
          .limit(limit)
          .as("searched"),
      )
      .select((eb) => eb.fn.countAll<number>().as("count")),
);

/** Which of these configurations of an owner have drifted. */
export async function findDriftedOf(
  { sql: db }: Queries,
  owner: string,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom(specsBy("specs_drift"))
    .select("id")
    .where("owner_id", "=", owner)
    .where("drift_status", "=", sql.lit("drifted" as const))
    .where("id", "in", [...ids])
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** How many configurations of all owners were checked, by the result. */
export const countDrift = statement<
  Record<string, never>,
  { drift_status: DriftStatus; count: number }
>((db) =>
  db
    .selectFrom(specsBy("specs_drift"))
    .select((eb) => ["drift_status", eb.fn.countAll<number>().as("count")])
    .where("drift_status", "<>", sql.lit("unchecked" as const))
    .groupBy("drift_status"),
);
