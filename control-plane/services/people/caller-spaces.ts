/** The spaces in which a login or an access token acts now, with what it may do in each. */
import { lowerAccess, narrowed, wholeAccess, zonesOf, type Access } from "../../domain/roles.ts";
import { findZonesOfSpecs } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findAccessTokenById, type AccessTokenOfTeam } from "../../store/people/access-tokens.ts";
import { findLogin, type LoginOfTeam } from "../../store/people/logins.ts";
import type { Space, UserCaller } from "../callers.ts";

/** The spaces of the caller's login or access token now; undefined: it has ended. */
export async function findSpaces(
  queries: Queries,
  { login_kind, login_id: id }: Pick<UserCaller, "login_kind" | "login_id">,
  now: number,
): Promise<readonly Space[] | undefined> {
  if (login_kind === "token") {
    const space = await findTokenSpace(queries, id, now);
    return space && [space];
  }
  const rows = await queries.all(findLogin, { id, now });
  return rows[0] && spacesOf(rows[0].user_id, rows);
}

export const spacesOf = (user: string, rows: readonly LoginOfTeam[]): Space[] => [
  { space_id: user, slug: null, ...wholeAccess("admin") },
  ...rows.flatMap(({ team_id, team_slug, team_role, team_zones }) =>
    team_id === null || team_role === null || team_zones === null
      ? []
      : { space_id: team_id, slug: team_slug, role: team_role, zones: zonesOf(team_zones) },
  ),
];

/**
 * The space of an access token with what it may do there: its creator may have lost roles since, and
 * configurations may have gone to other zones. Undefined: its creator is blocked, or no member.
 */
export async function spaceOfToken(
  queries: Queries,
  row: AccessTokenOfTeam,
): Promise<Space | undefined> {
  const most = accessOfCreator(row);
  if (most === undefined) return undefined;
  const access = lowerAccess({ role: row.role, zones: zonesOf(row.zones) }, most);
  const space = { space_id: row.owner_id, slug: row.team_slug };
  if (row.configurations === null) return { ...space, ...access };
  const { owner_id: owner, configurations: specs } = row;
  const zones = await queries.all(findZonesOfSpecs, { owner, specs });
  const configurations = JSON.parse(specs) as string[];
  return {
    ...space,
    ...narrowed(access, configurations, new Set(zones.map(({ zone_id }) => zone_id))),
  };
}

/** What the token's creator may do in its space; undefined: blocked, or no member of the team. */
function accessOfCreator(row: AccessTokenOfTeam): Access | undefined {
  if (row.creator_blocked_at !== null) return undefined;
  if (row.owner_id === row.created_by) return wholeAccess("admin");
  const { creator_role: role, creator_zones: zones } = row;
  return role === null || zones === null ? undefined : { role, zones: zonesOf(zones) };
}

/** The space of an access token that has not ended. */
async function findTokenSpace(
  queries: Queries,
  id: string,
  now: number,
): Promise<Space | undefined> {
  const row = await queries.first(findAccessTokenById, { id });
  return row && row.expires_at > now ? spaceOfToken(queries, row) : undefined;
}
