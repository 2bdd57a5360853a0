/** Reads from an index only: a definition may have five megabytes. */
import { sql } from "kysely";
import type { Source } from "../../../protocol/configurations.ts";
import type { Queries } from "../db.ts";
import { specsBy } from "../indexed.ts";
import { isSeen } from "../spaces.ts";
import type { SpecRow } from "./configurations.ts";

/** Where its files come from; inline files are left out. */
type SourceSummary = Exclude<Source, { type: "inline" }> | { readonly type: "inline" };

export type SpecSummaryRow = Pick<
  SpecRow,
  | "id"
  | "name"
  | "status"
  | "error_message"
  | "updated_at"
  | "deployed_backend"
  | "failed_job_id"
  | "failed_checks"
  | "drift_status"
> & { readonly source: SourceSummary };

/** A page of the specs of a zone, newest first. */
export async function listSpecSummaries(
  { sql: db }: Queries,
  {
    owner,
    zone,
    before,
    limit,
  }: { owner: string; zone: string; before: string | undefined; limit: number },
): Promise<SpecSummaryRow[]> {
  let query = db
    .selectFrom(specsBy("specs_summary"))
    .select(["id", "name", "status", "error_message", "updated_at"])
    .select(["deployed_backend", "failed_job_id", "failed_checks", "drift_status"])
    .select(sql<string>`json_remove(json_extract(definition, '$.source'), '$.files')`.as("source"))
    .where("owner_id", "=", owner)
    .where("zone_id", "=", zone)
    .where(isSeen(owner, "zone_id", "id"));
  if (before !== undefined) query = query.where("id", "<", before);
  const rows = await query.orderBy("id", "desc").limit(limit).execute();
  return rows.map((row) => ({ ...row, source: JSON.parse(row.source) as SourceSummary }));
}

/** A configuration with an unresolved failure. */
type FailedSpecRow = Pick<SpecRow, "id" | "name" | "status" | "error_message" | "failed_job_id">;

/** Those of an owner, by the job that failed, the newest first. */
export function listFailedSpecs(
  { sql: db }: Queries,
  owner: string,
  limit: number,
): Promise<FailedSpecRow[]> {
  return db
    .selectFrom(specsBy("specs_failed"))
    .select(["id", "name", "status", "error_message", "failed_job_id"])
    .where("owner_id", "=", owner)
    .where("failed_job_id", "is not", null)
    .where(isSeen(owner, "zone_id", "id"))
    .orderBy("failed_job_id", "desc")
    .limit(limit)
    .execute();
}

/** A configuration of which checks failed after its last deployment. */
type WarnedSpecRow = Pick<SpecRow, "id" | "name" | "failed_checks">;

/** Those of an owner without an unresolved failure, the newest first. */
export function listWarnedSpecs(
  { sql: db }: Queries,
  owner: string,
  limit: number,
): Promise<WarnedSpecRow[]> {
  return db
    .selectFrom(specsBy("specs_failed_checks"))
    .select(["id", "name", "failed_checks"])
    .where("owner_id", "=", owner)
    .where("failed_checks", ">", sql.lit(0))
    .where("failed_job_id", "is", null)
    .where(isSeen(owner, "zone_id", "id"))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

export type SpecCount = Pick<SpecRow, "zone_id" | "status"> & {
  readonly count: number;
  /** How many of them have an unresolved failure. */
  readonly failed: number;
  /** How many others of them have checks that fail. */
  readonly warned: number;
  /** How many differ from what was deployed. */
  readonly drifted: number;
};

export async function countSpecsByStatus(
  { sql: db }: Queries,
  owner: string,
  zones: readonly string[],
): Promise<SpecCount[]> {
  if (zones.length === 0) return [];
  return db
    .selectFrom(specsBy("specs_summary"))
    .select(({ fn }) => [
      "zone_id",
      "status",
      fn.countAll<number>().as("count"),
      fn.count<number>("failed_job_id").as("failed"),
      sql<number>`count(case when failed_checks > 0 and failed_job_id is null then 1 end)`.as(
        "warned",
      ),
      sql<number>`count(case when drift_status = 'drifted' then 1 end)`.as("drifted"),
    ])
    .where("owner_id", "=", owner)
    .where("zone_id", "in", [...zones])
    .where(isSeen(owner, "zone_id", "id"))
    .groupBy(["zone_id", "status"])
    .execute();
}

/** The newest specs that use a cloud identity. */
export function listUsersOfIdentity(
  { sql: db }: Queries,
  identity: string,
  limit: number,
): Promise<Pick<SpecRow, "id" | "name">[]> {
  return db
    .selectFrom(specsBy("specs_cloud_identity"))
    .select(["id", "name"])
    .where("cloud_identity_id", "=", identity)
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

export async function countUsersOfIdentity(
  { sql: db }: Queries,
  identity: string,
): Promise<number> {
  const found = await db
    .selectFrom(specsBy("specs_cloud_identity"))
    .select(({ fn }) => fn.countAll<number | string>().as("count"))
    .where("cloud_identity_id", "=", identity)
    .executeTakeFirst();
  return Number(found?.count ?? 0);
}
