/** Roles of people and access tokens, and the permissions that endpoints need. */
import type { Static } from "typebox";
import { OneOf } from "./fields.ts";

/** From the fewest permissions to all of them: a role has those of the ones before it. */
export const roles = ["viewer", "planner", "deployer", "admin"] as const;
export const Role = OneOf(roles);
export type Role = Static<typeof Role>;

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
