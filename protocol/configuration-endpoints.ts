/** The endpoints of zones, configurations and uploaded archives. */
import { Type } from "typebox";
import {
  Archive,
  Configuration,
  CreateConfiguration,
  CreateZone,
  UpdateConfiguration,
  UpdateZone,
  Zone,
} from "./configurations.ts";
import { DriftStatus } from "./drift.ts";
import { endpoint } from "./endpoint.ts";
import { about, ContentDigest, Name, NextCursor, Paging, Uuid } from "./fields.ts";
import { Job } from "./jobs.ts";
import { archiveLimit } from "./limits.ts";

const configurationParams = { name: about(Name, "The name or id of the configuration.") };
const zoneParams = { id: about(Uuid, "The zone.") };

export const configurationEndpoints = {
  listZones: endpoint("GET /api/cli/zones", {
    summary: "List all zones with their configurations",
    permission: "read",
    inZones: true,
    query: Paging,
    answer: Type.Object({ zones: Type.Array(Zone), next_cursor: NextCursor }),
  }),
  createZone: endpoint("POST /api/cli/zones", {
    summary: "Create a zone",
    permission: "configure",
    body: CreateZone,
    status: 201,
    answer: Zone,
    refusals: ["name_taken", "quota_exceeded"],
  }),
  getZone: endpoint("GET /api/cli/zones/{id}", {
    summary: "Read a zone with its configurations",
    permission: "read",
    inZones: true,
    params: zoneParams,
    answer: Zone,
  }),
  updateZone: endpoint("PATCH /api/cli/zones/{id}", {
    summary: "Rename a zone, or move it to another team",
    description:
      "A zone moves with its configurations, their jobs and their states. Of a long history the newest jobs move at once, and older ones follow within seconds. It cannot move while a job of it runs, while it uses a variable set or a cloud identity, or while older jobs still follow an earlier move; the message says which.",
    permission: "configure",
    inZones: true,
    params: zoneParams,
    body: UpdateZone,
    answer: Zone,
    refusals: ["name_taken", "team_not_found", "zone_busy", "zone_in_use", "quota_exceeded"],
  }),
  deleteZone: endpoint("DELETE /api/cli/zones/{id}", {
    summary: "Delete a zone without configurations",
    permission: "administer",
    inZones: true,
    params: zoneParams,
    refusals: ["zone_not_empty", "zone_busy"],
  }),
  listConfigurations: endpoint("GET /api/cli/configurations", {
    summary: "List all configurations",
    permission: "read",
    inZones: true,
    query: {
      ...Paging,
      drift: Type.Optional(about(DriftStatus, "Only those with this status of drift.")),
    },
    answer: Type.Object({ configurations: Type.Array(Configuration), next_cursor: NextCursor }),
  }),
  createConfiguration: endpoint("POST /api/cli/configurations", {
    summary: "Create a configuration",
    description:
      "Sensitive values are encrypted at rest, sent only to the runner that holds the job, and never shown. Environment variables that would change how terraform runs are refused.",
    permission: "configure",
    inZones: true,
    belongsTo: { zone_id: "zones" },
    body: CreateConfiguration,
    bodyLimit: 4 * 1024 * 1024,
    status: 201,
    answer: Configuration,
    refusals: [
      "host_unavailable",
      "status_name_taken",
      "not_found",
      "forbidden_environment_name",
      "name_taken",
      "quota_exceeded",
      "too_many_requests",
    ],
  }),
  getConfiguration: endpoint("GET /api/cli/configurations/{name}", {
    summary: "Read a configuration by its name, or by its id",
    permission: "read",
    inZones: true,
    params: configurationParams,
    answer: Configuration,
  }),
  updateConfiguration: endpoint("PATCH /api/cli/configurations/{name}", {
    summary: "Change a configuration, by its name or id; earlier plans become stale",
    permission: "configure",
    inZones: true,
    params: configurationParams,
    body: UpdateConfiguration,
    bodyLimit: 4 * 1024 * 1024,
    answer: Configuration,
    refusals: [
      "host_unavailable",
      "status_name_taken",
      "forbidden_environment_name",
      "name_taken",
      "configuration_busy",
      "zone_busy",
      "configuration_not_empty",
      "changed_meanwhile",
      "too_many_requests",
    ],
  }),
  deleteConfiguration: endpoint("DELETE /api/cli/configurations/{name}", {
    summary: "Delete a configuration without unfinished jobs and resources, and its state",
    permission: "administer",
    inZones: true,
    params: configurationParams,
    query: {
      keep_resources_of: Type.Optional(
        about(
          Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
          "Delete it although its state records resources, which continue to exist. The serial of the newest version; refused if there is a newer one.",
        ),
      ),
    },
    refusals: ["configuration_busy", "configuration_not_empty", "state_conflict", "state_locked"],
  }),
  checkDrift: endpoint("POST /api/cli/configurations/{name}/check-drift", {
    summary: "Queue a check whether the infrastructure still is what was deployed",
    description:
      "The check is a PLAN with `refresh_only` and `deployed`. It changes nothing, and the status of the configuration stays. A check that already waits or runs is returned instead.",
    permission: "plan",
    inZones: true,
    params: configurationParams,
    status: 201,
    also: { 200: "A check already waits or runs." },
    answer: Job,
    refusals: ["not_deployed", "quota_exceeded", "changed_meanwhile", "too_many_requests"],
  }),
  getConfigurationByProjectName: endpoint(
    "GET /api/cli/configurations/by-project-name/{project_name}",
    {
      summary: "Read a configuration by its project name",
      permission: "read",
      inZones: true,
      params: { project_name: about(Name, "The project name.") },
      answer: Configuration,
    },
  ),
  uploadArchive: endpoint("POST /api/cli/archives", {
    summary: "Upload a .tar.gz of Terraform files, to be used as a source by its SHA-256",
    description: "At most 50 MiB. If the request has a digest, it is checked.",
    permission: "plan",
    inZones: true,
    bytes: "request",
    bodyLimit: archiveLimit,
    headers: { "content-digest": Type.Optional(ContentDigest) },
    status: 201,
    answer: Archive,
    media: "application/gzip",
    also: { 200: "The same archive is already stored." },
    refusals: ["quota_exceeded"],
  }),
};
