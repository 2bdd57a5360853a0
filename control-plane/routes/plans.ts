/**
 * Plans: the artifact, raw bytes of any content type that are streamed both ways, and the summary.
 */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { findPlanArtifact, uploadPlanArtifact } from "../services/plans/artifacts.ts";
import { getPlanSummary } from "../services/plans/summaries.ts";
import type { Context } from "../services/context.ts";
import { bytesOf, sendContent } from "../http/bytes.ts";
import { bytesRoutes, route, sent, type Guards } from "../http/route.ts";

export function planRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  bytesRoutes(app, (bytes) => {
    const { uploadPlanArtifact: plan } = endpoints;

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
  });

  route(app, endpoints.downloadPlanArtifact, guards, async (call) => {
    const content = await findPlanArtifact(context, call.caller, call.params.id);
    return sendContent(call.request, call.reply, content, "application/octet-stream");
  });

  route(app, endpoints.getPlanSummary, guards, async ({ caller, params }) =>
    getPlanSummary(context, caller, params.id),
  );
}
