/** The roles of access tokens and of members of a team. */
import { roles } from "../../protocol/role-names.ts";
import { oneOf, repeated } from "../noun.ts";

export const roleOption = (description: string) => oneOf("--role <role>", description, roles);

export const zoneOption = () =>
  repeated("--zone <zone=role>", "a role in this zone; repeat it for each zone");

export const rolesHelp = `
Roles, each with the permissions of those before it:
  viewer     read everything except states and debug logs
  planner    plan, cancel and retry plans, upload files
  deployer   deploy, destroy, create and change configurations, use states
  admin      workers, cloud identities, members, delete
`;
