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
import { sendList } from "./list.ts";
import { bodilessRoutes, route, type Guards } from "./route.ts";

/** Adds the routes of this file. */
export function configurationRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listZones, guards, async ({ caller, query, reply }) =>
    sendList(reply, "zones", query, (before, limit) => listZones(context, caller, before, limit)),
  );
  route(app, endpoints.createZone, guards, async ({ caller, body }) =>
    createZone(context, caller, body),
  );
  route(app, endpoints.getZone, guards, async ({ caller, params }) =>
    getZone(context, caller, params.id),
  );
  route(app, endpoints.listConfigurations, guards, async ({ caller, query, reply }) =>
    sendList(reply, "configurations", query, (before, limit) =>
      listConfigurations(context, caller, before, limit),
    ),
  );
  route(app, endpoints.createConfiguration, guards, async ({ caller, body }) =>
    createConfiguration(context, caller, body),
  );
  route(app, endpoints.getConfiguration, guards, async ({ caller, params }) =>
    getConfiguration(context, caller, params.name),
  );
  route(app, endpoints.getConfigurationByProjectName, guards, async ({ caller, params }) =>
    getConfigurationByProjectName(context, caller, params.project_name),
  );
  route(app, endpoints.updateZone, guards, async ({ caller, params, body }) =>
    updateZone(context, caller, params.id, body),
  );
  route(app, endpoints.updateConfiguration, guards, async ({ caller, params, body }) =>
    updateConfiguration(context, caller, params.name, body),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.deleteZone, guards, async ({ caller, params }) => {
      await deleteZone(context, caller, params.id);
      return undefined;
    });
    route(bodiless, endpoints.deleteConfiguration, guards, async ({ caller, params }) => {
      await deleteConfiguration(context, caller, params.name);
      return undefined;
    });
  });
}
