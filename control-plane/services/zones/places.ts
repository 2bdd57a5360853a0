import { notFound } from "../../domain/refusal.ts";
import { findSpec } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findZone } from "../../store/zones/zones.ts";

/** Throws 404 unless the zone and the configuration that a row names are of its space. */
export async function checkPlace(
  tx: Queries,
  {
    owner_id: owner,
    zone_id,
    spec_id,
  }: { owner_id: string; zone_id: string | null; spec_id: string | null },
): Promise<void> {
  if (zone_id !== null && !(await tx.first(findZone, { id: zone_id, owner })))
    throw notFound("zone");
  if (spec_id !== null && !(await tx.first(findSpec, { id: spec_id, owner })))
    throw notFound("configuration");
}
