/** Cloud identities. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import {
  createCloudIdentity,
  deleteCloudIdentity,
  getCloudIdentity,
  listCloudIdentities,
  trustPolicy,
  updateCloudIdentity,
} from "../services/identities/identities.ts";
import type { Context } from "../services/context.ts";
import { sendList } from "../http/list.ts";
import { bodilessRoutes, route, type Guards } from "../http/route.ts";

export function identityRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listCloudIdentities, guards, async ({ caller, query, reply }) =>
    sendList(reply, "cloud_identities", query, (before, limit) =>
      listCloudIdentities(context, caller, before, limit),
    ),
  );
  route(app, endpoints.createCloudIdentity, guards, async ({ caller, body }) =>
    createCloudIdentity(context, caller, body),
  );
  route(app, endpoints.getCloudIdentity, guards, async ({ caller, params }) =>
    getCloudIdentity(context, caller, params.id),
  );
  route(app, endpoints.updateCloudIdentity, guards, async ({ caller, params, body }) =>
    updateCloudIdentity(context, caller, params.id, body),
  );
  route(app, endpoints.getTrustPolicy, guards, async ({ caller, params, query }) =>
    trustPolicy(context, caller, params.id, query.principal),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.deleteCloudIdentity, guards, async ({ caller, params }) => {
      await deleteCloudIdentity(context, caller, params.id);
      return undefined;
    });
  });
}
