/** Zones and configurations. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import {
  createConfiguration,
  createZone,
  getConfiguration,
  getConfigurationByProjectName,
  getZone,
  listConfigurations,
  listZones,
} from "../services/configurations.ts";
import type { Context } from "../services/context.ts";
import type { Guards } from "./guards.ts";
import { sendList } from "./list.ts";
import { route } from "./route.ts";

/** Adds the routes of this file. */
export function configurationRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listZones, guards.client, async ({ caller, query, reply }) =>
    sendList(reply, "zones", query, (before, limit) => listZones(context, caller, before, limit)),
  );
  route(app, endpoints.createZone, guards.client, async ({ caller, body }) =>
    createZone(context, caller, body),
  );
  route(app, endpoints.getZone, guards.client, async ({ caller, params }) =>
    getZone(context, caller, params.id),
  );
  route(app, endpoints.listConfigurations, guards.client, async ({ caller, query, reply }) =>
    sendList(reply, "configurations", query, (before, limit) =>
      listConfigurations(context, caller, before, limit),
    ),
  );
  route(app, endpoints.createConfiguration, guards.client, async ({ caller, body }) =>
    createConfiguration(context, caller, body),
  );
  route(app, endpoints.getConfiguration, guards.client, async ({ caller, params }) =>
    getConfiguration(context, caller, params.name),
  );
  route(app, endpoints.getConfigurationByProjectName, guards.client, async ({ caller, params }) =>
    getConfigurationByProjectName(context, caller, params.project_name),
  );
}
