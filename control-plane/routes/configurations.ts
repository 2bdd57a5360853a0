/** Zones and configurations. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { UserCaller } from "../services/callers.ts";
import {
  deleteConfiguration,
  deleteZone,
  updateConfiguration,
  updateZone,
} from "../services/configurations/changes.ts";
import {
  createConfiguration,
  getConfiguration,
  getConfigurationByProjectName,
  listConfigurationIds,
  writeConfiguration,
} from "../services/configurations/configurations.ts";
import type { Context } from "../services/context.ts";
import { createZone, getZone, listZones, writeZone } from "../services/zones/zones.ts";
import { sendJson, sendListById, sendListOf } from "../http/list.ts";
import { bodilessRoutes, route, type Guards, type sent } from "../http/route.ts";

/** Adds the routes of this file. */
export function configurationRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listZones, guards, async ({ caller, query, reply }) =>
    sendListOf(reply, "zones", query, {
      read: (before, limit) => listZones(context, caller, before, limit),
      cursorOf: ({ id }) => id,
      write: (zone) => writeZone(context, caller, zone),
    }),
  );
  route(app, endpoints.createZone, guards, async ({ caller, body }) =>
    createZone(context, caller, body),
  );
  const sendZone = async (
    reply: FastifyReply,
    caller: UserCaller,
    id: string,
  ): Promise<typeof sent> =>
    sendJson(reply, writeZone(context, caller, await getZone(context, caller, id)));
  route(app, endpoints.getZone, guards, async ({ caller, params, reply }) =>
    sendZone(reply, caller, params.id),
  );
  route(app, endpoints.listConfigurations, guards, async ({ caller, query, reply }) =>
    sendListById(
      reply,
      "configurations",
      query,
      (before, limit) => listConfigurationIds(context, caller, before, limit),
      (id) => writeConfiguration(context, caller, id),
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
  route(app, endpoints.updateZone, guards, async ({ caller, params, body, reply }) => {
    await updateZone(context, caller, params.id, body);
    return sendZone(reply, caller, params.id);
  });
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
