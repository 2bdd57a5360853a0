/** Zones. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { sendJson, sendListOf } from "../http/list.ts";
import { bodilessRoutes, route, type Guards, type sent } from "../http/route.ts";
import type { UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import {
  createZone,
  getZone,
  listZones,
  writeZone,
  deleteZone,
  updateZone,
} from "../services/zones/zones.ts";

export function zoneRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
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
  route(app, endpoints.updateZone, guards, async ({ caller, params, body, reply }) => {
    const moved = await updateZone(context, caller, params.id, body);
    return sendZone(reply, moved, params.id);
  });
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.deleteZone, guards, async ({ caller, params }) => {
      await deleteZone(context, caller, params.id);
      return undefined;
    });
  });
}
