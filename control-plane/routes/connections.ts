import { list } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import {
  createConnection,
  deleteConnection,
  getConnection,
  listConnections,
  rotateSecret,
  updateConnection,
} from "../services/connections/connections.ts";
import { receiveEvent } from "../services/connections/events.ts";
import { addWebhook, checkConnection, listRepositories } from "../services/connections/hosts.ts";
import { approvePullRequest, listPullRequests } from "../services/pull-requests/pull-requests.ts";

export const connectionRoutes = (context: Context) =>
  ({
    listConnections: async ({ caller }) =>
      list((before, limit) => listConnections(context, caller, before, limit)),
    createConnection: ({ caller, body }) => createConnection(context, caller, body),
    getConnection: ({ caller, params }) => getConnection(context, caller, params.id),
    updateConnection: ({ caller, params, body }) =>
      updateConnection(context, caller, params.id, body),
    deleteConnection: ({ caller, params }) => deleteConnection(context, caller, params.id),
    checkConnection: ({ caller, params }) => checkConnection(context, caller, params.id),
    rotateConnectionSecret: ({ caller, params, body }) =>
      rotateSecret(context, caller, params.id, body),
    addConnectionWebhook: ({ caller, params, body }) =>
      addWebhook(context, caller, params.id, body.repository),
    listConnectionRepositories: ({ caller, params, query }) =>
      listRepositories(context, caller, params.id, query),
    listPullRequests: async ({ caller, query }) =>
      list((before, limit) => listPullRequests(context, caller, query, before, limit)),
    approvePullRequest: ({ caller, params, body }) =>
      approvePullRequest(context, caller, params.id, body.commit),
    receiveEvent: ({ params, body, request }) =>
      receiveEvent(context, params.id, { headers: request.headers, address: request.ip }, body),
  }) satisfies Partial<Routes>;
