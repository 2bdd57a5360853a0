/** Zones without what is in them: for pages that only name them. */
import type { Zone } from "../../../protocol/configurations.ts";
import type { UserCaller } from "../callers.ts";
import { notFound } from "../../domain/refusal.ts";
import { findZone, listZones } from "../../store/configurations/configurations.ts";
import type { Context } from "../context.ts";

export type ZoneName = Pick<Zone, "id" | "name">;

/** The name of one. */
export async function getZoneName(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  id: string,
): Promise<ZoneName> {
  const zone = await read.first(findZone, { id, owner });
  if (!zone) throw notFound("zone");
  return { id, name: zone.name };
}

/** The names of the newest. */
export async function listZoneNames(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  limit: number,
): Promise<ZoneName[]> {
  const zones = await listZones(read, owner, undefined, limit);
  return zones.map(({ id, name }) => ({ id, name }));
}
