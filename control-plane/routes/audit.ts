import { list } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import { listAuditEntries } from "../services/audit/audit.ts";
import type { Context } from "../services/context.ts";

export const auditRoutes = (context: Context) =>
  ({
    listAuditEntries: async ({ caller, query }) =>
      list((before, limit) => listAuditEntries(context, caller, query, before, limit)),
  }) satisfies Partial<Routes>;
