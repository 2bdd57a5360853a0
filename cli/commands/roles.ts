/** The roles of access tokens and of members of a team. */
import type { Role } from "../../protocol/roles.ts";

/** Not from protocol/roles.ts, whose schema would have to be loaded. */
export const roleNames = [
  "viewer",
  "planner",
  "deployer",
  "admin",
] as const satisfies readonly Role[];

export const rolesHelp = `
Roles, each with the permissions of those before it:
  viewer     read everything except states and debug logs
  planner    plan, cancel and retry plans, upload files
  deployer   deploy, destroy, create and change configurations, use states
  admin      workers, cloud identities, members, delete
`;
