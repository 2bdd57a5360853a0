/** Who may do what: the one table of permissions, and the check that uses it. */
import type { JobType } from "../../protocol/jobs.ts";
import { roles, type Permission, type Role } from "../../protocol/roles.ts";
import { RefusalError } from "./refusal.ts";

/** The least role with each permission. A role has the permissions of all roles before it. */
const leastRole: Readonly<Record<Permission, Role>> = {
  // The own logins, access tokens and address.
  account: "viewer",
  // Zones, configurations, jobs, logs, plans, workers, outputs that are not sensitive, audit log.
  read: "viewer",
  // Queue, retry and cancel a PLAN of the configuration's own source; upload archives.
  plan: "planner",
  // A PLAN of another source, DEPLOY, DESTROY; unlock, roll back and replace states; download
  // states and debug logs, which hold secrets.
  deploy: "deployer",
  // Approve and reject deployments; people only.
  approve: "deployer",
  // Create and change zones, configurations and variable sets.
  configure: "deployer",
  // Workers and what registers them, cloud identities, approval rules, and everything that deletes.
  administer: "admin",
  // The team itself, its members and invitations.
  members: "admin",
};

/** The part of a caller that decides. */
export interface Permitted {
  readonly role: Role;
  readonly login_kind: "session" | "cli" | "token";
  readonly token_name?: string;
}

/** What no access token may do. */
const personal: ReadonlySet<Permission> = new Set(["account", "members", "approve"]);

export const includesRole = (role: Role, other: Role): boolean =>
  roles.indexOf(role) >= roles.indexOf(other);

/** Undefined without any. */
export const highestRole = (given: readonly (Role | null)[]): Role | undefined =>
  roles.findLast((role) => given.includes(role));

/** The roles that a caller may give to an access token, from the least to its own. */
export const givableRoles = ({ role }: Pick<Permitted, "role">): Role[] =>
  roles.filter((one) => includesRole(role, one));

/** The role that a caller lacks for a permission; undefined: none. */
export function roleFor(
  { role }: Pick<Permitted, "role">,
  permission: Permission,
): Role | undefined {
  return includesRole(role, leastRole[permission]) ? undefined : leastRole[permission];
}

export const rolesWith = (permission: Permission): Role[] =>
  roles.filter((role) => roleFor({ role }, permission) === undefined);

/** Whether a permission belongs to a person, and the caller is an access token. */
const isPersonal = (caller: Permitted, permission: Permission): boolean =>
  caller.login_kind === "token" && personal.has(permission);

export const mayDo = (caller: Permitted, permission: Permission): boolean =>
  !isPersonal(caller, permission) && roleFor(caller, permission) === undefined;

/** Throws 403 unless the caller has the permission. */
export function checkPermission(caller: Permitted, permission: Permission): void {
  if (isPersonal(caller, permission))
    throw new RefusalError(
      "permission_denied",
      "Access tokens cannot do this, because it belongs to a person: sign in instead",
    );
  const least = roleFor(caller, permission);
  if (least === undefined) return;
  const has =
    caller.token_name === undefined
      ? `You have the role ${caller.role}.`
      : `The access token "${caller.token_name}" has the role ${caller.role}, at most that of its creator.`;
  throw new RefusalError("permission_denied", `This needs the role ${least}. ${has}`);
}

/** A PLAN of another source than its configuration's runs code that no deployer has chosen. */
export function permissionForJob(type: JobType, hasOwnSource: boolean): Permission {
  if (type === "DESTROY_WORKER") return "administer";
  return type === "PLAN" && !hasOwnSource ? "plan" : "deploy";
}
