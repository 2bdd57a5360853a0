/** Variable sets: named variables and environment, attached to zones or configurations. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, Name, NextCursor, Paging, StoredName, Timestamp, Uuid } from "./fields.ts";
import { valueFields } from "./values.ts";

/** Limit of the zones, and of the configurations, that one set is attached to. */
export const attachmentsLimit = 1000;
/** Limit of the sets that are attached to one zone, and to one configuration. */
export const setsLimit = 20;
/** Limit of the stored values of the sets that are attached to one zone, and to one configuration. */
export const setsBytesLimit = 8 * 1024 * 1024;

const attachments = {
  zone_ids: Type.Array(Uuid, {
    maxItems: attachmentsLimit,
    uniqueItems: true,
    description: "The zones to whose configurations the set gives its values.",
  }),
  configuration_ids: Type.Array(Uuid, {
    maxItems: attachmentsLimit,
    uniqueItems: true,
    description: "The configurations to which the set gives its values.",
  }),
};

export const VariableSet = Type.Object({
  id: Uuid,
  name: StoredName,
  ...valueFields,
  ...attachments,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type VariableSet = Static<typeof VariableSet>;

const written = {
  ...valueFields,
  zone_ids: Type.Optional(attachments.zone_ids),
  configuration_ids: Type.Optional(attachments.configuration_ids),
};

export const CreateVariableSet = Type.Object(
  { name: Name, ...written },
  { additionalProperties: false },
);
export type CreateVariableSet = Static<typeof CreateVariableSet>;

/**
 * Changes the fields in the request, each as a whole; a variable without `value` keeps its value.
 */
export const UpdateVariableSet = Type.Object(
  { name: Type.Optional(Name), ...written },
  { additionalProperties: false },
);
export type UpdateVariableSet = Static<typeof UpdateVariableSet>;

const setId = about(Uuid, "The variable set.");
const params = { id: setId };
const zoneParams = { id: setId, zone_id: about(Uuid, "The zone.") };
const configurationParams = {
  id: setId,
  configuration_id: about(Uuid, "The configuration."),
};
const bodyLimit = 4 * 1024 * 1024;

export const variableSetEndpoints = {
  listVariableSets: endpoint("GET /api/cli/variable-sets", {
    summary: "List variable sets, newest first",
    permission: "read",
    query: Paging,
    answer: Type.Object({ variable_sets: Type.Array(VariableSet), next_cursor: NextCursor }),
  }),
  createVariableSet: endpoint("POST /api/cli/variable-sets", {
    summary: "Create a variable set",
    description:
      "Values are checked, and sensitive values protected, as in a configuration. The jobs that are created from now on get them.",
    permission: "configure",
    body: CreateVariableSet,
    bodyLimit,
    status: 201,
    answer: VariableSet,
    refusals: [
      "not_found",
      "forbidden_environment_name",
      "name_taken",
      "quota_exceeded",
      "too_many_requests",
    ],
  }),
  getVariableSet: endpoint("GET /api/cli/variable-sets/{id}", {
    summary: "Read a variable set",
    permission: "read",
    params,
    answer: VariableSet,
  }),
  updateVariableSet: endpoint("PATCH /api/cli/variable-sets/{id}", {
    summary: "Change a variable set; earlier plans that used other values become stale",
    permission: "configure",
    params,
    body: UpdateVariableSet,
    bodyLimit,
    answer: VariableSet,
    refusals: [
      "forbidden_environment_name",
      "name_taken",
      "quota_exceeded",
      "changed_meanwhile",
      "too_many_requests",
    ],
  }),
  deleteVariableSet: endpoint("DELETE /api/cli/variable-sets/{id}", {
    summary: "Delete a variable set that is attached to nothing",
    permission: "administer",
    params,
    refusals: ["variable_set_in_use"],
  }),
  attachToZone: endpoint("PUT /api/cli/variable-sets/{id}/zones/{zone_id}", {
    summary: "Give the values of a set to all configurations of a zone",
    permission: "configure",
    params: zoneParams,
    answer: VariableSet,
    refusals: ["quota_exceeded"],
  }),
  detachFromZone: endpoint("DELETE /api/cli/variable-sets/{id}/zones/{zone_id}", {
    summary: "Detach a set from a zone",
    permission: "configure",
    params: zoneParams,
    answer: VariableSet,
  }),
  attachToConfiguration: endpoint(
    "PUT /api/cli/variable-sets/{id}/configurations/{configuration_id}",
    {
      summary: "Give the values of a set to a configuration",
      permission: "configure",
      params: configurationParams,
      answer: VariableSet,
      refusals: ["quota_exceeded"],
    },
  ),
  detachFromConfiguration: endpoint(
    "DELETE /api/cli/variable-sets/{id}/configurations/{configuration_id}",
    {
      summary: "Detach a set from a configuration",
      permission: "configure",
      params: configurationParams,
      answer: VariableSet,
    },
  ),
};
