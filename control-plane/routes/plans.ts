import { sendContent } from "../http/bytes.ts";
import type { Routes } from "../http/route.ts";
import { sendStored } from "../http/sent.ts";
import type { Context } from "../services/context.ts";
import { findPlanArtifact, uploadPlanArtifact } from "../services/plans/artifacts.ts";
import { getPlanSummary } from "../services/plans/summaries.ts";

export const planRoutes = (context: Context) =>
  ({
    uploadPlanArtifact: ({ caller, params, headers, body, reply }) =>
      sendStored(
        reply,
        uploadPlanArtifact(context, caller, params.id, headers["x-job-attempt"], body),
      ),
    downloadPlanArtifact: async ({ caller, params, request, reply }) => {
      const content = await findPlanArtifact(context, caller, params.id);
      return sendContent(request, reply, content, "application/octet-stream");
    },
    getPlanSummary: ({ caller, params }) => getPlanSummary(context, caller, params.id),
  }) satisfies Partial<Routes>;
