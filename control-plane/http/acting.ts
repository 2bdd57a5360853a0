/** Decides by the address and a header of a request in which space it acts. */
import type { FastifyRequest } from "fastify";
import { teamHeader } from "../../protocol/limits.ts";
import type { UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { actingInTeam, actingOn } from "../services/teams/spaces.ts";

/**
 * The caller of a request, in the space that it acts in: that of what the address names by id, or
 * else of the team that the header or, on a page, `?team=` names. Throws 404 `team_not_found`.
 */
export async function actingFor(
  context: Context,
  request: FastifyRequest,
  caller: UserCaller,
): Promise<UserCaller> {
  const slug = request.headers[teamHeader] ?? pageTeamOf(request);
  const chosen = typeof slug === "string" && slug !== "" ? actingInTeam(caller, slug) : caller;
  const [, kind = "", name = ""] = /\/([a-z-]+)\/:(\w+)/.exec(request.routeOptions.url ?? "") ?? [];
  const id = (request.params as Record<string, string>)[name] ?? "";
  return kind === "teams" ? actingInTeam(chosen, id) : actingOn(context, chosen, { kind, id });
}

/** Of the console's pages only: an endpoint's query has no such field. */
const pageTeamOf = ({ query, routeOptions }: FastifyRequest): unknown =>
  routeOptions.config.endpoint === undefined ? (query as { team?: unknown }).team : undefined;
