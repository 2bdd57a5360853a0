/** The options `--role`, `--zone` and `--configuration`, with which a command gives roles. */
import { roles, rolesText } from "../../protocol/role-names.ts";
import type { Zone } from "../../protocol/configurations.ts";
import type { Role, ZoneRoles } from "../../protocol/roles.ts";
import { find } from "../api/find.ts";
import type { Api } from "../api/api.ts";
import { CliError } from "../terminal/output.ts";

export interface RoleOptions {
  readonly role?: Role | undefined;
  /** `NAME=ROLE`, once for each zone. */
  readonly zone?: readonly string[] | undefined;
}

const known = new WeakMap<Api, Promise<readonly Zone[]>>();

/** Once in a command: the roles that it gives name zones, and so do those that it shows. */
function zonesOf(api: Api): Promise<readonly Zone[]> {
  const zones =
    known.get(api) ?? api.call("listZones", { query: {} }).then((listed) => listed.zones);
  known.set(api, zones);
  return zones;
}

/** The body of a request that gives roles; zones are looked up in the space of `api`. */
export async function givenRoles(
  api: Api,
  { role, zone = [] }: RoleOptions,
): Promise<{ role?: Role | null; zones?: ZoneRoles }> {
  if (role === undefined && zone.length === 0)
    throw new CliError("Pass --role ROLE, or --zone ZONE=ROLE for each zone.", 2);
  if (zone.length === 0) return { role: role! };
  const zones = await zonesOf(api);
  const entries = zone.map((text) => {
    const [, name = "", given = ""] = /^(.+)=([^=]*)$/.exec(text) ?? [];
    const named = roles.find((one) => one === given);
    if (named === undefined)
      throw new CliError(
        `--zone takes ZONE=ROLE with one of the roles ${roles.join(", ")}, such as staging=deployer. It was given "${text}".`,
        2,
      );
    return [find({ team: api.team }, "zone", "zones", zones, name).id, named] as const;
  });
  return { ...(role === undefined ? {} : { role }), zones: Object.fromEntries(entries) };
}

/** The names of zones in roles; one that the caller does not see keeps its id. */
export async function zoneNames(
  api: Api,
  given: readonly { readonly zones: ZoneRoles }[],
): Promise<(roles: { readonly role: Role | null; readonly zones: ZoneRoles }) => string> {
  const hasZones = given.some(({ zones }) => Object.keys(zones).length > 0);
  const zones = hasZones ? await zonesOf(api) : [];
  return (shown) => rolesText(shown, (id) => zones.find((zone) => zone.id === id)?.name);
}
