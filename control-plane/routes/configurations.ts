/** Configurations, and the archives of their files: raw bytes, streamed both ways. */
import { sendContent } from "../http/bytes.ts";
import { listById } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import { sendStored } from "../http/sent.ts";
import { findSource, uploadArchive } from "../services/configurations/archives.ts";
import {
  createConfiguration,
  getConfiguration,
  getConfigurationByProjectName,
  listConfigurationIds,
  writeConfiguration,
} from "../services/configurations/configurations.ts";
import { deleteConfiguration } from "../services/configurations/delete.ts";
import { updateConfiguration } from "../services/configurations/update.ts";
import { checkDrift } from "../services/drift/checks.ts";
import type { Context } from "../services/context.ts";

export const configurationRoutes = (context: Context) =>
  ({
    listConfigurations: async ({ caller, query }) =>
      listById(
        (before, limit) => listConfigurationIds(context, caller, query.drift, before, limit),
        (id) => writeConfiguration(context, caller, id),
      ),
    createConfiguration: ({ caller, body }) => createConfiguration(context, caller, body),
    getConfiguration: ({ caller, params }) => getConfiguration(context, caller, params.name),
    getConfigurationByProjectName: ({ caller, params }) =>
      getConfigurationByProjectName(context, caller, params.project_name),
    updateConfiguration: ({ caller, params, body }) =>
      updateConfiguration(context, caller, params.name, body),
    deleteConfiguration: ({ caller, params, query }) =>
      deleteConfiguration(context, caller, params.name, query.keep_resources_of),
    checkDrift: ({ caller, params, reply }) =>
      sendStored(reply, checkDrift(context, caller, params.name)),
    uploadArchive: ({ caller, body, reply }) =>
      sendStored(reply, uploadArchive(context, caller, body)),
    downloadSource: async ({ caller, params, request, reply }) =>
      sendContent(request, reply, await findSource(context, caller, params.id), "application/gzip"),
  }) satisfies Partial<Routes>;
