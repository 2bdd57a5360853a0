/**
 * SQL of specs in short. An index holds all that is read here, because a definition has up to five
 * megabytes and the columns behind it are reached only through it.
 */
import { sql } from "kysely";
import type { Source } from "../../../protocol/configurations.ts";
import type { Queries } from "../db.ts";
import { specsBy } from "../indexed.ts";
import type { SpecRow } from "./configurations.ts";

/** Where its files come from; inline files are left out. */
type SourceSummary = Exclude<Source, { type: "inline" }> | { readonly type: "inline" };

export type SpecSummaryRow = Pick<
  SpecRow,
  "id" | "name" | "status" | "error_message" | "updated_at" | "deployed_backend"
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
    .select(["id", "name", "status", "error_message", "updated_at", "deployed_backend"])
    .select(sql<string>`json_remove(json_extract(definition, '$.source'), '$.files')`.as("source"))
    .where("owner_id", "=", owner)
    .where("zone_id", "=", zone);
  if (before !== undefined) query = query.where("id", "<", before);
  const rows = await query.orderBy("id", "desc").limit(limit).execute();
  return rows.map((row) => ({ ...row, source: JSON.parse(row.source) as SourceSummary }));
}

/** A configuration whose last job failed. */
type FailedSpecRow = Pick<SpecRow, "id" | "name" | "error_message" | "updated_at">;

/** Those that failed last, of an owner. */
export function listFailedSpecs(
  { sql: db }: Queries,
  owner: string,
  limit: number,
): Promise<FailedSpecRow[]> {
  return db
    .selectFrom(specsBy("specs_failed"))
    .select(["id", "name", "error_message", "updated_at"])
    .where("owner_id", "=", owner)
    .where("status", "=", sql.lit("FAILED" as const))
    .orderBy("updated_at", "desc")
    .limit(limit)
    .execute();
}

/** How many specs of each of these zones have each status. */
export async function countSpecsByStatus(
  { sql: db }: Queries,
  owner: string,
  zones: readonly string[],
): Promise<(Pick<SpecRow, "zone_id" | "status"> & { count: number })[]> {
  if (zones.length === 0) return [];
  return db
    .selectFrom(specsBy("specs_summary"))
    .select((eb) => ["zone_id", "status", eb.fn.countAll<number>().as("count")])
    .where("owner_id", "=", owner)
    .where("zone_id", "in", [...zones])
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
