/** The part of a form that gives roles: one in the whole space, and one in one of its zones. */
import { roles, rolesText } from "../../../protocol/role-names.ts";
import type { Role, ZoneRoles } from "../../../protocol/roles.ts";
import type { ZoneName } from "../../services/zones/zones.ts";
import { choice } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import type { Html } from "../page/html.ts";

/** So many zones are offered; a longer list is no help to choose from. */
export const zonesOffered = 500;

const words: Readonly<Record<Role, string>> = {
  viewer: "viewer: reads",
  planner: "planner: also plans",
  deployer: "deployer: also deploys and changes configurations",
  admin: "admin: also manages and deletes",
};

/** `givable`: the roles that may be given in the whole space. */
export const roleFields = (
  form: Form,
  zones: readonly ZoneName[],
  givable: readonly Role[] = roles,
): Html[] => [
  choice(form, { name: "role", label: "Role" }, [
    ...givable.map((role) => [role, words[role]] as const),
    ...(zones.length > 0 ? [["", "none, except in a zone"] as const] : []),
  ]),
  ...(zones.length > 0 ? zoneFields(form, zones) : []),
];

const zoneFields = (form: Form, zones: readonly ZoneName[]): Html[] => [
  choice(form, { name: "zone", label: "Zone with another role" }, [
    ["", "no zone"],
    ...zones.map(({ id, name }) => [id, name] as const),
  ]),
  choice(
    form,
    { name: "zone_role", label: "Role in that zone" },
    roles.map((role) => [role, role] as const),
  ),
];

/** What such a form gives; the schema of the API checks it. */
export const rolesOf = (form: Form): { role: string | null; zones?: Record<string, string> } => {
  const zone = form.text("zone");
  return {
    role: form.text("role") || null,
    ...(zone === "" ? {} : { zones: { [zone]: form.text("zone_role") } }),
  };
};

/** Roles with the names of the zones that the reader sees. */
export const rolesWords = (
  given: { readonly role: Role | null; readonly zones: ZoneRoles },
  zones: readonly ZoneName[],
): string => rolesText(given, (id) => zones.find((zone) => zone.id === id)?.name);
