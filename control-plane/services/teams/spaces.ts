import { validate } from "uuid";
import { RefusalError } from "../../domain/refusal.ts";
import { findOwnerOf, type OwnedTable } from "../../store/teams/teams.ts";
import type { Space, UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

/** The table of what an address names by id: `/zones/{id}`. */
const tables: Readonly<Record<string, OwnedTable>> = {
  zones: "zones",
  configurations: "specs",
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

export const actingIn = (caller: UserCaller, { space_id, role }: Space): UserCaller => ({
  ...caller,
  space_id,
  role,
});

/** The caller, acting in the team with this slug. Throws 404 unless they are a member. */
export function actingInTeam(caller: UserCaller, slug: string): UserCaller {
  const team = caller.spaces.find((space) => space.slug === slug);
  if (team) return actingIn(caller, team);
  throw new RefusalError("team_not_found", `there is no team "${slug}" of which you are a member`);
}

/** The space stays if they may not act there: the thing is then not found. */
export async function actingOn(
  { store }: Pick<Context, "store">,
  caller: UserCaller,
  { kind, id }: Named,
): Promise<UserCaller> {
  // A caller without teams finds everything in one space. A configuration may be named by its name.
  const table = tables[kind];
  if (table === undefined || caller.spaces.length < 2 || !validate(id)) return caller;
  const owner = (await store.read.first(findOwnerOf[table], { id: id.toLowerCase() }))?.owner_id;
  const space = caller.spaces.find(({ space_id }) => space_id === owner);
  return space === undefined || space.space_id === caller.space_id
    ? caller
    : actingIn(caller, space);
}
