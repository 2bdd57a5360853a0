/** Jobs, as people drive them. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Context } from "../services/context.ts";
import { retryJob } from "../services/jobs/retry.ts";
import { readJobView } from "../services/jobs/views.ts";
import { cancelJob, createJob, getJob, listJobIds } from "../services/jobs/jobs.ts";
import { writeWhole } from "../services/json-text.ts";
import { getPlanSummary } from "../services/plans/summaries.ts";
import { sendListById } from "../http/list.ts";
import { bodilessRoutes, route, type Guards } from "../http/route.ts";

/** Adds the routes of this file. */
export function jobRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.createJob, guards, async ({ caller, body }) =>
    createJob(context, caller, body),
  );
  route(app, endpoints.listJobs, guards, async ({ caller, query, reply }) =>
    sendListById(
      reply,
      "jobs",
      query,
      (before, limit) =>
        listJobIds(context, caller, { status: query.status, zone: query.zone_id, before, limit }),
      (id) => writeWhole(readJobView(context, id)),
    ),
  );
  route(app, endpoints.getJob, guards, async ({ caller, params }) =>
    getJob(context, caller, params.id),
  );
  route(app, endpoints.getPlanSummary, guards, async ({ caller, params }) =>
    getPlanSummary(context, caller, params.id),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.cancelJob, guards, async ({ caller, params }) =>
      cancelJob(context, caller, params.id),
    );
    route(bodiless, endpoints.retryJob, guards, async ({ caller, params }) =>
      retryJob(context, caller, params.id),
    );
  });
}
