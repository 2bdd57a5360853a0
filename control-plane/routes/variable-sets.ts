import { listById } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
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

export const variableSetRoutes = (context: Context) =>
  ({
    listVariableSets: async ({ caller }) =>
      listById(
        (before, limit) => listVariableSetIds(context, caller, before, limit),
        (id) => writeVariableSet(context, caller, id),
      ),
    createVariableSet: ({ caller, body }) => createVariableSet(context, caller, body),
    getVariableSet: ({ caller, params }) => getVariableSet(context, caller, params.id),
    updateVariableSet: ({ caller, params, body }) =>
      updateVariableSet(context, caller, params.id, body),
    deleteVariableSet: ({ caller, params }) => deleteVariableSet(context, caller, params.id),
    attachToZone: ({ caller, params: { id, zone_id } }) =>
      setAttached(context, caller, id, { zone_id }, true),
    detachFromZone: ({ caller, params: { id, zone_id } }) =>
      setAttached(context, caller, id, { zone_id }, false),
    attachToConfiguration: ({ caller, params: { id, configuration_id } }) =>
      setAttached(context, caller, id, { configuration_id }, true),
    detachFromConfiguration: ({ caller, params: { id, configuration_id } }) =>
      setAttached(context, caller, id, { configuration_id }, false),
  }) satisfies Partial<Routes>;
