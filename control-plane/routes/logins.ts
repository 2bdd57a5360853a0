/** A person's logins. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Context } from "../services/context.ts";
import { endOwnLogin, listLogins } from "../services/people/login-lists.ts";
import { sendList } from "../http/list.ts";
import { bodilessRoutes, route, type Guards } from "../http/route.ts";

/** Adds the routes of this file. */
export function loginRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listLogins, guards, async ({ caller, query, reply }) =>
    sendList(reply, "logins", query, (before, limit) => listLogins(context, caller, before, limit)),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.revokeLogin, guards, async ({ caller, params }) => {
      await endOwnLogin(context, caller, params.id);
      return undefined;
    });
  });
}
