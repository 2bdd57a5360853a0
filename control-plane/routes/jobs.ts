import { pagesById } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import { decideJob } from "../services/approvals/approvals.ts";
import { countQueue } from "../services/claims/queue.ts";
import type { Context } from "../services/context.ts";
import { cancelJob, createJob, findJobIds, getJob } from "../services/jobs/jobs.ts";
import { repairReport } from "../services/jobs/report-repair.ts";
import { reportStatus } from "../services/jobs/reports.ts";
import { retryJob } from "../services/jobs/retry.ts";
import { viewJob } from "../services/jobs/views.ts";
import { writeWhole } from "../services/json-text.ts";
import { Drafts } from "../services/large-work.ts";

export const jobRoutes = (context: Context) =>
  ({
    createJob: ({ caller, body }) => createJob(context, caller, body),
    listJobs: async ({ caller, query }) => {
      const options = { progress: false, drafts: new Drafts() };
      return pagesById(
        (before, limit) => findJobIds(context, caller, query, { before, limit }),
        (id) => writeWhole(viewJob(context, id, options)),
      );
    },
    countQueue: ({ caller, query }) => countQueue(context, caller, query.labels),
    getJob: ({ caller, params }) => getJob(context, caller, params.id),
    decideJob: ({ caller, params, body }) => decideJob(context, caller, params.id, body),
    cancelJob: ({ caller, params }) => cancelJob(context, caller, params.id),
    retryJob: ({ caller, params }) => retryJob(context, caller, params.id),
    reportStatus: {
      dropsExcess: true,
      repair: repairReport,
      handle: ({ caller, params, headers, body }) =>
        reportStatus(context, caller, params.id, headers["x-job-attempt"], body),
    },
  }) satisfies Partial<Routes>;
