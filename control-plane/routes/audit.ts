/** The audit log, for its owner. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { listAuditEntries } from "../services/audit/audit.ts";
import type { Context } from "../services/context.ts";
import { sendList } from "../http/list.ts";
import { route, type Guards } from "../http/route.ts";

/** Adds the route. */
export function auditRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listAuditEntries, guards, async ({ caller, query, reply }) =>
    sendList(reply, "audit_entries", query, (before, limit) =>
      listAuditEntries(context, caller, query, before, limit),
    ),
  );
}
