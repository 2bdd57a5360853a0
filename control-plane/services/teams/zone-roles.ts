/** Roles in zones, as members, invitations and access tokens get them. */
import type { Role, ZoneRoles } from "../../../protocol/roles.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { wholeAccess, type Access } from "../../domain/roles.ts";
import type { Queries } from "../../store/db.ts";
import { isUsedIn, type SpaceThing } from "../../store/teams/zone-roles.ts";
import { findZone } from "../../store/zones/zones.ts";
import { spaceOf, type UserCaller } from "../callers.ts";
import { zonesWith } from "./spaces.ts";

/** The roles that a request gives. Throws 400 if they are none. */
export function givenAccess(
  { role, zones = {} }: { readonly role?: Role | null; readonly zones?: ZoneRoles },
  path = "body.role",
  whose = "",
): Access {
  const given = new Map(Object.entries(zones).map(([zone, one]) => [zone.toLowerCase(), one]));
  if (!role && given.size === 0)
    throw invalid(path, `is missing${whose}: give a role, or roles in zones`);
  return { role: role ?? "none", zones: given };
}

/** Throws 404 for a zone of another space. */
export async function checkZones(
  queries: Queries,
  owner: string,
  ...given: readonly Access[]
): Promise<void> {
  for (const id of new Set(given.flatMap(({ zones }) => [...zones.keys()])))
    if (!(await queries.first(findZone, { id, owner }))) throw notFound(`zone ${id}`);
}

/** Where something is to be used. */
export interface Use {
  readonly zone: string;
  /** The configuration that is to use it; its own use does not count. */
  readonly by?: string;
}

/**
 * Throws 403 if a caller who may configure in some zones only would use in a zone what belongs to the
 * whole space and no other configuration there uses yet, such as the cloud identity of another zone.
 * An access token for some configurations may use what these use.
 */
export async function checkUse(
  queries: Queries,
  user: UserCaller,
  thing: SpaceThing,
  { zone, by = "" }: Use,
): Promise<void> {
  if (zonesWith(user, "configure") === undefined) return;
  const { configurations } = spaceOf(user) ?? wholeAccess("none");
  if (await isUsedIn(queries, thing, { zone, by, configurations })) return;
  const what = "identity" in thing ? "cloud identity" : "connection";
  throw new RefusalError(
    "permission_denied",
    `You may configure in some zones only, and no other configuration of this zone that you see uses this ${what}. Someone with the role deployer in the whole team must be the first to use it there.`,
  );
}
