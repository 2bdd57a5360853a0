/** Zones and configurations. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import {
  deleteConfiguration,
  deleteZone,
  updateConfiguration,
  updateZone,
} from "../services/configuration-changes.ts";
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
import { bodilessRoutes, route } from "./route.ts";

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
  route(app, endpoints.updateZone, guards.client, async ({ caller, params, body }) =>
    updateZone(context, caller, params.id, body),
  );
  route(app, endpoints.updateConfiguration, guards.client, async ({ caller, params, body }) =>
    updateConfiguration(context, caller, params.name, body),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.deleteZone, guards.client, async ({ caller, params }) => {
      await deleteZone(context, caller, params.id);
      return undefined;
    });
    route(bodiless, endpoints.deleteConfiguration, guards.client, async ({ caller, params }) => {
      await deleteConfiguration(context, caller, params.name);
      return undefined;
    });
  });
}
