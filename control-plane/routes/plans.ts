/** Plan artifacts, debug logs and archives over HTTP: raw bytes, any content type, streamed both ways. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { findSource, uploadArchive } from "../services/configurations/archives.ts";
import { findPlanArtifact, uploadPlanArtifact } from "../services/plans/artifacts.ts";
import type { Context } from "../services/context.ts";
import { findDebugLogContent, uploadDebugLog } from "../services/logs/debug-logs.ts";
import { bytesOf, sendContent } from "../http/bytes.ts";
import { bytesRoutes, route, sent, type Guards } from "../http/route.ts";

/** Adds the routes of plan artifacts, debug logs and archives. */
export function artifactRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  bytesRoutes(app, (bytes) => {
    const {
      uploadPlanArtifact: plan,
      uploadDebugLog: debugLog,
      uploadArchive: archive,
    } = endpoints;

    route(bytes, plan, guards, async ({ caller, params, headers, request, reply }) => {
      const body = bytesOf(request, plan.bodyLimit);
      const attempt = headers["x-job-attempt"];
      const { answer, stored } = await uploadPlanArtifact(
        context,
        caller,
        params.id,
        attempt,
        body,
      );
      reply.code(stored ? 201 : 200).send(answer);
      return sent;
    });

    route(bytes, debugLog, guards, async ({ caller, params, headers, request, reply }) => {
      const body = bytesOf(request, debugLog.bodyLimit);
      const attempt = headers["x-job-attempt"];
      const { answer, stored } = await uploadDebugLog(context, caller, params.id, attempt, body);
      reply.code(stored ? 201 : 200).send(answer);
      return sent;
    });

    route(bytes, archive, guards, async ({ caller, request, reply }) => {
      const body = bytesOf(request, archive.bodyLimit);
      const { answer, stored } = await uploadArchive(context, caller, body);
      reply.code(stored ? 201 : 200).send(answer);
      return sent;
    });
  });

  route(app, endpoints.downloadPlanArtifact, guards, async (call) => {
    const content = await findPlanArtifact(context, call.caller, call.params.id);
    return sendContent(call.request, call.reply, content, "application/octet-stream");
  });

  route(app, endpoints.downloadDebugLog, guards, async ({ caller, params, request, reply }) => {
    const content = await findDebugLogContent(context, caller, params.id);
    reply.headers({
      "content-disposition": `attachment; filename="job-${params.id}-debug.log.gz"`,
      "x-content-type-options": "nosniff",
    });
    return sendContent(request, reply, content, "application/gzip");
  });

  route(app, endpoints.downloadSource, guards, async (call) => {
    const content = await findSource(context, call.caller, call.params.id);
    return sendContent(call.request, call.reply, content, "application/gzip");
  });
}
