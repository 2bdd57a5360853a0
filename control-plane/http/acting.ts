/** Decides by the address and a header of a request in which space it acts. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Endpoint } from "../../protocol/endpoint.ts";
import { teamHeader } from "../../protocol/limits.ts";
import { checkPermission } from "../domain/roles.ts";
import { spaceOf, type UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { actingInTeam, actingOn } from "../services/teams/spaces.ts";

/**
 * Returns the caller, acting in the space of what the address names by id, or else in the team that
 * the header or, on a page, `?team=` names. Throws 404 `team_not_found`.
 */
export async function actingFor(
  context: Context,
  request: FastifyRequest,
  caller: UserCaller,
): Promise<UserCaller> {
  const slug = request.headers[teamHeader] ?? pageTeamOf(request);
  const chosen = typeof slug === "string" && slug !== "" ? actingInTeam(caller, slug) : caller;
  const { endpoint, inZones = endpoint?.inZones === true } = request.routeOptions.config;
  const [, kind = "", name = ""] = /\/([a-z-]+)\/:(\w+)/.exec(request.routeOptions.url ?? "") ?? [];
  const id = (request.params as Record<string, string>)[name] ?? "";
  if (kind === "teams") return actingOn(context, actingInTeam(chosen, id), none, inZones);
  return actingOn(context, chosen, { kind, id }, inZones);
}

/** Also names that space in the header of the response to a user with several. */
export async function actingWithNote(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  caller: UserCaller,
): Promise<UserCaller> {
  const acting = await actingFor(context, request, caller);
  if (acting.spaces.length > 1) reply.header(teamHeader, spaceOf(acting)?.slug ?? "");
  return acting;
}

/**
 * Returns the caller, acting in the space of what the body names by id (`belongsTo`). Throws 403 unless
 * the caller has the endpoint's permission there: before the body arrived, nothing was checked.
 */
export async function actingForBody(
  context: Context,
  caller: UserCaller,
  { belongsTo = {}, permission, inZones = false }: Endpoint,
  body: unknown,
): Promise<UserCaller> {
  const given = (body ?? {}) as Record<string, unknown>;
  const field = Object.keys(belongsTo).find((name) => typeof given[name] === "string");
  const named = { kind: belongsTo[field ?? ""] ?? "", id: String(given[field ?? ""]) };
  const acting = await actingOn(context, caller, named, inZones);
  if (permission !== undefined) checkPermission(acting, permission);
  return acting;
}

/** A request that names nothing by id. */
const none = { kind: "", id: "" };

/** For the console's pages only: an endpoint's query has no such field. */
const pageTeamOf = ({ query, routeOptions }: FastifyRequest): unknown =>
  routeOptions.config.endpoint === undefined ? (query as { team?: unknown }).team : undefined;
