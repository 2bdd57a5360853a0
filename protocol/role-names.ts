/** Without schemas, because the client loads them only with its requests. */

/** From the fewest permissions to all of them: a role has those of the ones before it. */
export const roles = ["viewer", "planner", "deployer", "admin"] as const;

/** In how many zones a member or an access token may have a role of its own. */
export const zoneRolesLimit = 100;

type Named = (typeof roles)[number];

interface Roles {
  readonly role: Named | null;
  readonly zones: Readonly<Record<string, Named>>;
}

/** The zones in which there was a role are deleted, or in another space. */
export const hasNoRole = ({ role, zones }: Roles): boolean =>
  role === null && Object.keys(zones).length === 0;

/** "viewer; deployer in sandbox, staging". `nameOf`: the name of a zone. */
export function rolesText(
  { role, zones }: Roles,
  nameOf: (zone: string) => string | undefined,
): string {
  const byRole = roles.toReversed().flatMap((one) => {
    const names = Object.keys(zones).flatMap((zone) =>
      zones[zone] === one ? [nameOf(zone) ?? zone] : [],
    );
    return names.length === 0 ? [] : [`${one} in ${names.toSorted().join(", ")}`];
  });
  return [...(role === null ? [] : [role]), ...byRole].join("; ") || "no role";
}
