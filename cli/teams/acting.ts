/** The team in which a command acts. */
import type { Role } from "../../protocol/roles.ts";
import type { Team } from "../../protocol/teams.ts";
import { isRefusal } from "../api/failures.ts";
import { roles } from "../../protocol/role-names.ts";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";

/** Returns the team that a command acts in; undefined for a personal space. */
export async function actingTeam({ api }: Pick<Run, "api">): Promise<Team | undefined> {
  if (api.team) return api.call("getTeam", { params: { slug: api.team } });
  if (!api.isAccessToken) return undefined;
  // The list of an access token has the one team that it acts in.
  return (await api.call("listTeams")).teams[0];
}

type Roles = Pick<Team, "role" | "zones">;

/** Throws `CliError` if the caller's role has fewer permissions than `least`; `team`: if known. */
export async function refuseLesserRole(
  run: Pick<Run, "api">,
  least: Role,
  team?: Roles,
): Promise<void> {
  const lesser = await lesserRole(run, least, team);
  if (lesser) throw new CliError(`${lesser} Nothing was done.`);
}

/**
 * Says which role is needed if the caller's has fewer permissions; undefined if it may be enough: of
 * a role in a zone the server decides. What the client asks an admin for belongs to the whole space.
 */
export async function lesserRole(
  run: Pick<Run, "api">,
  least: Role,
  team?: Roles,
): Promise<string | undefined> {
  const { api } = run;
  const token = api.isAccessToken ? await api.call("getCurrentAccessToken") : undefined;
  const given = token ?? team ?? (await actingTeam(run));
  if (given === undefined) return undefined;
  const { role } = given;
  const inZones = least === "admin" ? [] : Object.values(given.zones);
  const highest = roles.findLast((one) => one === role || inZones.includes(one));
  if (highest !== undefined && roles.indexOf(highest) >= roles.indexOf(least)) return undefined;
  const who = token ? `The access token "${token.name}" has` : "You have";
  const what =
    highest === undefined
      ? "roles in some zones only"
      : highest === role
        ? `the role ${role}`
        : `at most the role ${highest}, in some zones`;
  return `This needs the role ${least}. ${who} ${what}.`;
}

/** Returns the slug of the named team, else of the team that the command acts in. */
export async function slugOf(run: Run, named?: string): Promise<string> {
  const slug = named ?? (run.api.team || (await actingTeam(run))?.slug);
  if (slug !== undefined) return slug;
  throw new CliError(
    "Missing team. Pass --team TEAM, or choose it for all later commands: windlass teams use TEAM",
    2,
  );
}

/** Whether the server knows no such team, or the user is not a member. */
export const isTeamNotFound = (error: unknown): boolean => isRefusal(error, "team_not_found");
