import { validate } from "uuid";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import type { Permission } from "../../../protocol/roles.ts";
import {
  checkPermission,
  highestRole,
  isUniform,
  roleFor,
  roleIn,
  type Place,
  type RoleOrNone,
} from "../../domain/roles.ts";
import {
  filterSeenSpecs,
  findSpecByName,
  findSpecByProjectName,
} from "../../store/configurations/configurations.ts";
import { findPlaceOf, type FoundPlace, type OwnedTable } from "../../store/teams/teams.ts";
import type { Queries } from "../../store/db.ts";
import { spaceOf, type Space, type UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

/** The table of what an address names by id: `/zones/{id}`. */
const tables: Readonly<Record<string, OwnedTable>> = {
  zones: "zones",
  configurations: "specs",
  "by-project-name": "specs",
  jobs: "jobs",
  workers: "workers",
  "variable-sets": "variable_sets",
  "cloud-identities": "cloud_identities",
  identities: "cloud_identities",
  connections: "connections",
  "pull-requests": "pull_requests",
  schedules: "schedules",
  "access-tokens": "access_tokens",
  notifications: "notification_rules",
};

/** What a request names by id. */
export interface Named {
  /** The word before the id in an address, such as `zones`. */
  readonly kind: string;
  readonly id: string;
}

/** What belongs to a zone, by its table, and what it is called. */
const inZones: Readonly<Partial<Record<OwnedTable, string>>> = {
  zones: "zone",
  specs: "configuration",
  jobs: "job",
  schedules: "schedule",
};

export const actingIn = (caller: UserCaller, space: Space): UserCaller => ({
  ...caller,
  space_id: space.space_id,
  role: space.role,
});

/** Whether the caller has a role in all of the space in which it acts. */
export const seesWholeSpace = (caller: UserCaller): boolean =>
  (spaceOf(caller)?.role ?? "none") !== "none";

/** How many rows of a space are read for a caller who sees some of its zones. */
const searchedRows = 1000;

/** A list of configurations of the space, of which only those stay that the caller sees. */
export async function onlySeen<T extends { readonly id: string }>(
  { store: { read } }: Pick<Context, "store">,
  caller: UserCaller,
  list: (limit: number) => Promise<T[]>,
  limit: number,
): Promise<T[]> {
  if (seesWholeSpace(caller)) return list(limit);
  const rows = await list(searchedRows);
  const ids = rows.map(({ id }) => id);
  const seen = await filterSeenSpecs(read, caller.space_id, ids);
  return rows.filter(({ id }) => seen.has(id)).slice(0, limit);
}

/** The zones in which the caller has a permission; undefined: in all. */
export function zonesWith(
  caller: UserCaller,
  permission: Permission,
): readonly string[] | undefined {
  const space = spaceOf(caller);
  const may = (role: RoleOrNone) => roleFor({ role }, permission) === undefined;
  if (!space || may(space.role)) return undefined;
  return [...space.zones].flatMap(([zone, role]) => (may(role) ? [zone] : []));
}

/** Throws 404 or 403 unless the caller has a permission for what a body names. Returns its role there. */
export async function checkedIn(
  store: Context["store"],
  caller: UserCaller,
  named: Named,
  permission: Permission,
): Promise<UserCaller> {
  const { space_id } = caller;
  const acting = await actingOn({ store }, caller, named, true);
  if (acting.space_id !== space_id) return caller;
  checkPermission(acting, permission);
  return acting;
}

/** The caller, acting in the team with this slug. Throws 404 unless they are a member. */
export function actingInTeam(caller: UserCaller, slug: string): UserCaller {
  const team = caller.spaces.find((space) => space.slug === slug);
  if (team) return actingIn(caller, team);
  throw new RefusalError("team_not_found", `there is no team "${slug}" of which you are a member`);
}

/**
 * The caller in the space of what a request names, with the role in its zone. The space stays if they
 * may not act there: the thing is then not found. Throws 404 for what the caller does not see.
 * `inZone`: whether a role in a zone is enough (protocol/endpoint.ts).
 */
export async function actingOn(
  { store }: Pick<Context, "store">,
  caller: UserCaller,
  { kind, id }: Named,
  inZone: boolean,
): Promise<UserCaller> {
  const table = tables[kind];
  // A caller with one role in one space finds everything there.
  const isPlain = caller.spaces.length < 2 && caller.spaces.every(isUniform);
  const place =
    table === undefined || isPlain
      ? undefined
      : await findPlace(store.read, caller, table, id, kind);
  const space = spaceOf(caller, place?.owner_id ?? caller.space_id) ?? spaceOf(caller);
  if (space === undefined || isPlain) return caller;
  const acting = actingIn(caller, space);
  const noun = table && inZones[table];
  if (!inZone || isUniform(space)) return acting;
  if (table === undefined) return { ...acting, role: highestRole(space) };
  // The beginning of a job's id, by which a page finds it among those that are seen.
  if (table === "jobs" && !validate(id)) return { ...acting, role: highestRole(space) };
  // Such as a worker: it belongs to the whole space.
  if (noun === undefined) return acting;
  const role =
    place?.owner_id === space.space_id ? roleIn(space, placeIn(table, place)) : space.role;
  if (role === "none") throw notFound(noun);
  const thing = place && (place.thing ?? id).toLowerCase();
  return { ...acting, role, ...(thing ? { place: { table, id: thing } } : {}) };
}

/** The role of the caller where that is now which the request named; undefined: roles do not differ. */
export async function findRoleNow(
  queries: Queries,
  space: Space,
  { place }: Pick<UserCaller, "place">,
): Promise<RoleOrNone | undefined> {
  if (!place) return undefined;
  const found = await queries.first(findPlaceOf[place.table], { id: place.id });
  // What was deleted since is not found by the change itself.
  if (found?.owner_id !== space.space_id) return undefined;
  return roleIn(space, placeIn(place.table, found));
}

const placeIn = (table: OwnedTable | undefined, { zone_id, configuration_id }: FoundPlace): Place =>
  table === "zones" ? { zone_id } : { zone_id, configuration_id };

/** A configuration may also be named by its name in the space in which the caller acts. */
async function findPlace(
  queries: Queries,
  caller: UserCaller,
  table: OwnedTable,
  id: string,
  kind: string,
): Promise<(FoundPlace & { readonly thing?: string }) | undefined> {
  const byId =
    validate(id) && kind !== "by-project-name"
      ? await queries.first(findPlaceOf[table], { id: id.toLowerCase() })
      : undefined;
  const { space_id: owner } = caller;
  const own = spaceOf(caller);
  if (byId || table !== "specs" || !own || isUniform(own)) return byId;
  const find = kind === "by-project-name" ? findSpecByProjectName : findSpecByName;
  const spec = await queries.first(find, { name: id, owner });
  return (
    spec && {
      owner_id: owner,
      zone_id: spec.zone_id,
      configuration_id: spec.id,
      thing: spec.id,
    }
  );
}
