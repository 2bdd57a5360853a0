/** Who may do what: the one table of permissions, and the check that uses it. */
import type { JobType } from "../../protocol/jobs.ts";
import { roles, type Permission, type Role, type ZoneRoles } from "../../protocol/roles.ts";
import { RefusalError } from "./refusal.ts";

/** The least role with each permission. A role has the permissions of all roles before it. */
const leastRole: Readonly<Record<Permission, RoleOrNone>> = {
  // The own logins, access tokens and address.
  account: "none",
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

/** `none`: of a space of which someone may see some zones only. */
export type RoleOrNone = Role | "none";

/** What someone may do in a space. */
export interface Access {
  /** The role in all of it. */
  readonly role: RoleOrNone;
  /** Roles in some of its zones, by their ids; the higher one counts. */
  readonly zones: ReadonlyMap<string, Role>;
  /** The only configurations that an access token is for; undefined: all. */
  readonly configurations?: readonly string[] | undefined;
}

export const wholeAccess = (role: RoleOrNone): Access => ({ role, zones: new Map() });

/** Where something is. */
export interface Place {
  /** Null: what belongs to no zone, such as a job of a worker. */
  readonly zone_id: string | null;
  /** Undefined: the zone itself. Null: something without a configuration. */
  readonly configuration_id?: string | null;
}

export function roleIn(access: Access, { zone_id, configuration_id }: Place): RoleOrNone {
  const role = zone_id === null ? access.role : inZone(access, zone_id);
  if (access.configurations === undefined || role === "none") return role;
  if (configuration_id === undefined) return "viewer";
  return access.configurations.includes(configuration_id ?? "") ? role : "none";
}

const inZone = ({ role, zones }: Access, zone: string): RoleOrNone =>
  higher(role, zones.get(zone) ?? "none");

/** The highest role that someone has anywhere in a space. */
export const highestRole = ({ role, zones }: Access): RoleOrNone =>
  [...zones.values()].reduce<RoleOrNone>(higher, role);

/** Whether the role is the same in all of a space. */
export const isUniform = ({ zones, configurations }: Access): boolean =>
  zones.size === 0 && configurations === undefined;

/** What any of these permits; undefined without any. */
export function higherAccess(given: readonly Access[]): Access | undefined {
  if (given.length === 0) return undefined;
  const zones = new Map<string, Role>();
  for (const [zone, role] of given.flatMap((one) => [...one.zones]))
    zones.set(zone, higher(zones.get(zone) ?? "none", role) as Role);
  return { role: given.map(({ role }) => role).reduce(higher), zones };
}

/** What both accesses permit, as far as zones are concerned. */
export function lowerAccess(one: Access, other: Access): Access {
  const zones = new Set([...one.zones.keys(), ...other.zones.keys()]);
  return { role: lower(one.role, other.role), zones: commonZones(one, other, zones) };
}

/** Only that of some configurations, which are in these zones. */
export const narrowed = (
  access: Access,
  configurations: readonly string[],
  zones: ReadonlySet<string>,
): Access => ({ role: "none", zones: commonZones(access, access, zones), configurations });

const commonZones = (
  one: Access,
  other: Access,
  zones: ReadonlySet<string>,
): ReadonlyMap<string, Role> =>
  new Map(
    [...zones].flatMap((zone) => {
      const role = lower(inZone(one, zone), inZone(other, zone));
      return role === "none" ? [] : [[zone, role] as const];
    }),
  );

/** Whether one access permits all that another one does. */
export const includesAccess = (one: Access, other: Access): boolean =>
  includesRole(one.role, other.role) &&
  [...other.zones].every(([zone, role]) => includesRole(inZone(one, zone), role)) &&
  (one.configurations === undefined ||
    other.configurations?.every((id) => one.configurations?.includes(id)) === true);

const higher = (one: RoleOrNone, other: RoleOrNone): RoleOrNone =>
  includesRole(one, other) ? one : other;

const lower = (one: RoleOrNone, other: RoleOrNone): RoleOrNone =>
  includesRole(one, other) ? other : one;

/** Roles in zones as they are stored: by this text SQL finds them (`mayApproveIn`). */
export const zonesText = (zones: ReadonlyMap<string, Role>): string =>
  JSON.stringify(Object.fromEntries(zones));

const noZones: ReadonlyMap<string, Role> = new Map();

export const zonesOf = (text: string): ReadonlyMap<string, Role> =>
  text === "{}" ? noZones : new Map(Object.entries(JSON.parse(text) as ZoneRoles));

/** How stored roles are shown. */
export const shownAccess = (row: {
  readonly role: RoleOrNone;
  readonly zones: string;
}): { role: Role | null; zones: ZoneRoles } => ({
  role: row.role === "none" ? null : row.role,
  zones: Object.fromEntries(zonesOf(row.zones)),
});

/** Of a stored role and roles in zones. */
export const storedAccess = (row: {
  readonly role: RoleOrNone;
  readonly zones: string;
}): Access => ({
  role: row.role,
  zones: zonesOf(row.zones),
});

/** What the audit log says of stored roles. */
export const auditedRoles = (row: Parameters<typeof shownAccess>[0]) => ({
  role: row.role,
  ...(row.zones === "{}" ? {} : { zones: [...zonesOf(row.zones)].map((one) => one.join(" ")) }),
});

/** "the role viewer and roles in 2 zones". */
export function accessWords({ role, zones }: Access): string {
  const inZones =
    zones.size === 0 ? [] : [`roles in ${zones.size} ${zones.size === 1 ? "zone" : "zones"}`];
  const parts = role === "none" ? inZones : [`the role ${role}`, ...inZones];
  return parts.length === 0 ? "no role" : parts.join(" and ");
}

/** The part of a caller that decides. */
export interface Permitted {
  readonly role: RoleOrNone;
  readonly login_kind: "session" | "cli" | "token";
  readonly token_name?: string;
}

/** What no access token may do. */
const personal: ReadonlySet<Permission> = new Set(["account", "members", "approve"]);

export const includesRole = (role: RoleOrNone, other: RoleOrNone): boolean =>
  ranks.indexOf(role) >= ranks.indexOf(other);

const ranks: readonly RoleOrNone[] = ["none", ...roles];

/** The roles that a caller may give to an access token, from the least to its own. */
export const givableRoles = ({ role }: Pick<Permitted, "role">): Role[] =>
  roles.filter((one) => includesRole(role, one));

/** The role that a caller lacks for a permission; undefined: none. */
export function roleFor(
  { role }: Pick<Permitted, "role">,
  permission: Permission,
): Role | undefined {
  const least = leastRole[permission];
  return least === "none" || includesRole(role, least) ? undefined : least;
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
      ? `You have ${wordsOf(caller.role)}.`
      : `The access token "${caller.token_name}" has ${wordsOf(caller.role)}, at most that of its creator.`;
  throw new RefusalError("permission_denied", `This needs the role ${least}. ${has}`);
}

const wordsOf = (role: RoleOrNone): string =>
  role === "none" ? "roles in some zones only" : `the role ${role}`;

/** A PLAN of another source than its configuration's runs code that no deployer has chosen. */
export function permissionForJob(type: JobType, hasOwnSource: boolean): Permission {
  if (type === "DESTROY_WORKER") return "administer";
  return type === "PLAN" && !hasOwnSource ? "plan" : "deploy";
}
