import type { FastifyReply } from "fastify";
import { listWithIds, sendJson } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import type { sent } from "../http/sent.ts";
import type { UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import {
  createZone,
  deleteZone,
  getZone,
  listZones,
  updateZone,
  writeZone,
} from "../services/zones/zones.ts";

export function zoneRoutes(context: Context) {
  const sendZone = async (
    reply: FastifyReply,
    caller: UserCaller,
    id: string,
  ): Promise<typeof sent> =>
    sendJson(reply, writeZone(context, caller, await getZone(context, caller, id)));
  return {
    listZones: async ({ caller }) =>
      listWithIds({
        read: (before, limit) => listZones(context, caller, before, limit),
        cursorOf: ({ id }) => id,
        write: (zone) => writeZone(context, caller, zone),
      }),
    createZone: ({ caller, body }) => createZone(context, caller, body),
    getZone: ({ caller, params, reply }) => sendZone(reply, caller, params.id),
    updateZone: async ({ caller, params, body, reply }) =>
      sendZone(reply, await updateZone(context, caller, params.id, body), params.id),
    deleteZone: ({ caller, params }) => deleteZone(context, caller, params.id),
  } satisfies Partial<Routes>;
}
