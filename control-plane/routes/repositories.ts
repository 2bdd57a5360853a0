/** The repositories at the code hosts. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { isCodeHost } from "../domain/providers.ts";
import { notFound } from "../domain/refusal.ts";
import type { Context } from "../services/context.ts";
import { listRepositories } from "../services/people/repositories.ts";
import { route, type Guards } from "../http/route.ts";

/** Adds the routes of this file. */
export function repositoryRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listRepositories, guards, async ({ caller, params, query }) => {
    if (!isCodeHost(params.git_provider)) throw notFound("code-hosting provider");
    return listRepositories(context, caller, params.git_provider, query);
  });
}
