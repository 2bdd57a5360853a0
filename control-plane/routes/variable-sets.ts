/** Variable sets. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { sendListById } from "../http/list.ts";
import { bodilessRoutes, route, type Guards } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import {
  createVariableSet,
  deleteVariableSet,
  getVariableSet,
  listVariableSetIds,
  setAttached,
  updateVariableSet,
  writeVariableSet,
} from "../services/variable-sets/variable-sets.ts";

export function variableSetRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listVariableSets, guards, async ({ caller, query, reply }) =>
    sendListById(
      reply,
      "variable_sets",
      query,
      (before, limit) => listVariableSetIds(context, caller, before, limit),
      (id) => writeVariableSet(context, caller, id),
    ),
  );
  route(app, endpoints.createVariableSet, guards, async ({ caller, body }) =>
    createVariableSet(context, caller, body),
  );
  route(app, endpoints.getVariableSet, guards, async ({ caller, params }) =>
    getVariableSet(context, caller, params.id),
  );
  route(app, endpoints.updateVariableSet, guards, async ({ caller, params, body }) =>
    updateVariableSet(context, caller, params.id, body),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.deleteVariableSet, guards, async ({ caller, params }) => {
      await deleteVariableSet(context, caller, params.id);
      return undefined;
    });
    route(bodiless, endpoints.attachToZone, guards, async ({ caller, params }) =>
      setAttached(context, caller, params.id, { zone_id: params.zone_id }, true),
    );
    route(bodiless, endpoints.detachFromZone, guards, async ({ caller, params }) =>
      setAttached(context, caller, params.id, { zone_id: params.zone_id }, false),
    );
    route(bodiless, endpoints.attachToConfiguration, guards, async ({ caller, params }) => {
      const { id, configuration_id } = params;
      return setAttached(context, caller, id, { configuration_id }, true);
    });
    route(bodiless, endpoints.detachFromConfiguration, guards, async ({ caller, params }) => {
      const { id, configuration_id } = params;
      return setAttached(context, caller, id, { configuration_id }, false);
    });
  });
}
