/** Jobs, as people create, read and end them, and as their runner reports them. */
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Job } from "../../protocol/jobs.ts";
import type { Context } from "../services/context.ts";
import { decideJob } from "../services/approvals/approvals.ts";
import { withStaleness } from "../services/approvals/staleness.ts";
import { repairReport } from "../services/jobs/report-repair.ts";
import { reportStatus } from "../services/jobs/reports.ts";
import { retryJob } from "../services/jobs/retry.ts";
import { Drafts } from "../services/large-work.ts";
import { readJobView } from "../services/jobs/views.ts";
import { cancelJob, createJob, findJobIds, getJob } from "../services/jobs/jobs.ts";
import { withProgress } from "../services/jobs/resources.ts";
import { writeWhole } from "../services/json-text.ts";
import { sendPagesById } from "../http/list.ts";
import { bodilessRoutes, route, type Guards } from "../http/route.ts";

export function jobRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.createJob, guards, async ({ caller, body }) =>
    createJob(context, caller, body),
  );
  route(app, endpoints.listJobs, guards, async ({ caller, query, reply }) => {
    const known = new Drafts();
    return sendPagesById(
      reply,
      "jobs",
      query,
      (before, limit) => findJobIds(context, caller, query, { before, limit }),
      (id) => writeWhole(viewOfList(context, id, known)),
    );
  });
  route(app, endpoints.getJob, guards, async ({ caller, params }) =>
    withStaleness(context, await withProgress(context, await getJob(context, caller, params.id))),
  );
  route(app, endpoints.decideJob, guards, async ({ caller, params, body }) =>
    decideJob(context, caller, params.id, body),
  );
  route(
    app,
    endpoints.reportStatus,
    guards,
    async ({ caller, params, headers, body }) =>
      reportStatus(context, caller, params.id, headers["x-job-attempt"], body),
    { dropsExcess: true, repair: repairReport },
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

/** A job of a list. */
async function viewOfList(context: Context, id: string, known: Drafts): Promise<Job> {
  const job = await readJobView(context, id);
  // Values of megabytes take 25 ms to open and hash: other requests have their turn in between.
  if (job.approval_need) await setImmediate();
  return withStaleness(context, job, known);
}
