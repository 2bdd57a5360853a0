import type { SubjectNames } from "../../domain/token-subject.ts";
import type { Queries } from "../db.ts";

/** Configurations of a space: all, of one zone, with one identity, or one. */
export interface SubjectsOf {
  readonly owner: string;
  readonly zone?: string;
  readonly identity?: string;
  readonly spec?: string;
}

export interface SubjectRow extends SubjectNames {
  readonly zone_id: string;
  readonly configuration_id: string;
  readonly settings: string | null;
}

/** What the subjects of the configurations name whose identity gets tokens. */
export function listSubjects(
  { sql }: Queries,
  { owner, zone, identity, spec }: SubjectsOf,
  limit?: number,
): Promise<SubjectRow[]> {
  let query = sql
    .selectFrom("cloud_identities")
    .innerJoin("specs", "specs.cloud_identity_id", "cloud_identities.id")
    .innerJoin("zones", "zones.id", "specs.zone_id")
    .leftJoin("teams", "teams.id", "cloud_identities.owner_id")
    .select([
      "teams.slug as team",
      "cloud_identities.owner_id",
      "zones.id as zone_id",
      "zones.name as zone",
      "specs.id as configuration_id",
      "specs.name as configuration",
      "cloud_identities.name as identity",
      "cloud_identities.settings",
    ])
    .where("cloud_identities.owner_id", "=", owner)
    .where("cloud_identities.settings", "is not", null);
  if (zone !== undefined) query = query.where("specs.zone_id", "=", zone);
  if (identity !== undefined) query = query.where("cloud_identities.id", "=", identity);
  if (spec !== undefined) query = query.where("specs.id", "=", spec);
  if (limit !== undefined) query = query.orderBy("specs.id").limit(limit);
  return query.execute();
}
