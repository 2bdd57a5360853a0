/** Without schemas, because the client loads them only with its requests. */

/** From the fewest permissions to all of them: a role has those of the ones before it. */
export const roles = ["viewer", "planner", "deployer", "admin"] as const;

/** In how many zones a member or an access token may have a role of its own. */
export const zoneRolesLimit = 100;

type Named = (typeof roles)[number];

/** "viewer; deployer in sandbox, staging". `nameOf`: the name of a zone. */
export function rolesText(
  { role, zones }: { readonly role: Named | null; readonly zones: Readonly<Record<string, Named>> },
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
