/** Configurations, and the archives of their files: raw bytes, streamed both ways. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import {
  createConfiguration,
  getConfiguration,
  getConfigurationByProjectName,
  listConfigurationIds,
  writeConfiguration,
} from "../services/configurations/configurations.ts";
import { updateConfiguration } from "../services/configurations/update.ts";
import { deleteConfiguration } from "../services/configurations/delete.ts";
import type { Context } from "../services/context.ts";
import { findSource, uploadArchive } from "../services/configurations/archives.ts";
import { bytesOf, sendContent } from "../http/bytes.ts";
import { sendListById } from "../http/list.ts";
import { bodilessRoutes, bytesRoutes, route, sent, type Guards } from "../http/route.ts";

export function configurationRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
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
  route(app, endpoints.updateConfiguration, guards, async ({ caller, params, body }) =>
    updateConfiguration(context, caller, params.name, body),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.deleteConfiguration, guards, async ({ caller, params, query }) => {
      await deleteConfiguration(context, caller, params.name, query.keep_resources_of);
      return undefined;
    });
  });

  bytesRoutes(app, (bytes) => {
    const { uploadArchive: archive } = endpoints;
    route(bytes, archive, guards, async ({ caller, request, reply }) => {
      const body = bytesOf(request, archive.bodyLimit);
      const { answer, stored } = await uploadArchive(context, caller, body);
      reply.code(stored ? 201 : 200).send(answer);
      return sent;
    });
  });
  route(app, endpoints.downloadSource, guards, async (call) => {
    const content = await findSource(context, call.caller, call.params.id);
    return sendContent(call.request, call.reply, content, "application/gzip");
  });
}
