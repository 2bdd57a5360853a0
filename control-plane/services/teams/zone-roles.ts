/** Roles in zones, as members, invitations and access tokens get them. */
import type { Role, ZoneRoles } from "../../../protocol/roles.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import type { Access } from "../../domain/roles.ts";
import type { Queries } from "../../store/db.ts";
import { isUsedIn, type SpaceThing } from "../../store/teams/zone-roles.ts";
import { findZone } from "../../store/zones/zones.ts";
import type { UserCaller } from "../callers.ts";
import { zonesWith } from "./spaces.ts";

/** The roles that a request gives. Throws 400 if they are none. */
export function givenAccess(
  { role, zones = {} }: { readonly role?: Role | null; readonly zones?: ZoneRoles },
  path = "body.role",
): Access {
  const given = new Map(Object.entries(zones).map(([zone, one]) => [zone.toLowerCase(), one]));
  if (!role && given.size === 0) throw invalid(path, "is missing: give a role, or roles in zones");
  return { role: role ?? "none", zones: given };
}

/** Throws 404 for a zone of another space. */
export async function checkZones(
  queries: Queries,
  owner: string,
  { zones }: Access,
): Promise<void> {
  for (const id of zones.keys())
    if (!(await queries.first(findZone, { id, owner }))) throw notFound(`zone ${id}`);
}

/**
 * Throws 403 if a caller who may configure in some zones only would use there what belongs to the
 * whole space and none of these zones uses yet, such as the cloud identity of another zone.
 */
export async function checkUse(
  queries: Queries,
  user: UserCaller,
  thing: SpaceThing,
): Promise<void> {
  const zones = zonesWith(user, "configure");
  if (zones === undefined || (await isUsedIn(queries, thing, zones))) return;
  const what = "identity" in thing ? "cloud identity" : "connection";
  throw new RefusalError(
    "permission_denied",
    `You may configure in some zones only, and no configuration there uses this ${what} yet. Someone with the role deployer in the whole team must be the first to use it there.`,
  );
}
