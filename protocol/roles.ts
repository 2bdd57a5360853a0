/** Roles of people and access tokens, and the permissions that endpoints need. */
import { Type, type Static } from "typebox";
import { about, Nullable, OneOf } from "./fields.ts";
import { roles, zoneRolesLimit } from "./role-names.ts";

export { roles } from "./role-names.ts";

export const Role = OneOf(roles);
export type Role = Static<typeof Role>;

/** The role in a whole space. */
export const SpaceRole = about(
  Nullable(Role),
  "Null: none, but that in the zones of `zones`, of which alone is then anything visible.",
);

/** Roles by the ids of zones. */
export const ZoneRoles = Type.Record(
  Type.String({ pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" }),
  Role,
  {
    maxProperties: zoneRolesLimit,
    description: "Roles in zones, by their ids. In each the higher one of this and `role` counts.",
  },
);
export type ZoneRoles = Static<typeof ZoneRoles>;

/**
 * control-plane/domain/roles.ts says which role may. No access token may do the last three.
 * `members`: what changes a team. `account`: what belongs to a person, such as logins.
 */
export type Permission =
  | "read"
  | "plan"
  | "deploy"
  | "configure"
  | "administer"
  | "approve"
  | "members"
  | "account";
