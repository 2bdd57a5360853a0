import { list } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import { listDeliveries, redeliver, testRule } from "../services/notifications/deliveries.ts";
import {
  createRule,
  deleteRule,
  getRule,
  listRules,
  rotateSecret,
  updateRule,
} from "../services/notifications/rules.ts";

export const notificationRoutes = (context: Context) =>
  ({
    listNotifications: async ({ caller }) =>
      list((before, limit) => listRules(context, caller, before, limit)),
    createNotification: ({ caller, body }) => createRule(context, caller, body),
    getNotification: ({ caller, params }) => getRule(context, caller, params.id),
    updateNotification: ({ caller, params, body }) => updateRule(context, caller, params.id, body),
    deleteNotification: ({ caller, params }) => deleteRule(context, caller, params.id),
    testNotification: ({ caller, params }) => testRule(context, caller, params.id),
    rotateNotificationSecret: ({ caller, params, body }) =>
      rotateSecret(context, caller, params.id, body),
    listDeliveries: async ({ caller, params, query }) =>
      list((before, limit) =>
        listDeliveries(context, caller, params.id, { ...query, before, limit }),
      ),
    redeliver: ({ caller, params }) => redeliver(context, caller, params.id, params.delivery_id),
  }) satisfies Partial<Routes>;
