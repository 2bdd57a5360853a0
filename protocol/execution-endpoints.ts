/** The endpoints of a runner that holds a job. */
import { Type } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  AppendedLogs,
  AppendLogs,
  attemptHeader,
  ClaimedJob,
  DebugLog,
  logBodyLimit,
  PlanArtifact,
  ReportStatus,
  Wait,
} from "./executions.ts";
import { ContentDigest } from "./fields.ts";
import { Job, jobParams, LogPage, LogQuery } from "./jobs.ts";
import { debugLogLimit, planArtifactLimit } from "./limits.ts";

export const executionEndpoints = {
  claimJob: endpoint("POST /api/jobs/claim", {
    summary: "Claim the oldest job that this runner may run; 204 if there is none",
    description:
      "With `wait` the request stays open until there is a job. A repeated `Idempotency-Key` within 10 minutes returns the same job, in case the first response was lost. The runner reports PROCESSING before it starts terraform.",
    caller: "worker",
    query: Wait,
    headers: {
      "idempotency-key": Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description: "A new key for each claim, repeated in retries, which return the same job.",
          examples: ["claim-7f3a5c0e"],
        }),
      ),
    },
    answer: ClaimedJob,
    also: { 204: "There is no job for this worker." },
  }),
  reportStatus: endpoint("PUT /api/jobs/{id}/status", {
    summary: "Report the start or the end of a job",
    description:
      "The runner reports PROCESSING before anything runs. A late end is still recorded, because it is what happened. A repeated report changes nothing. Only an invalid `status` is refused; in the other fields, long text is truncated and invalid values are ignored.",
    caller: "worker",
    params: jobParams,
    headers: attemptHeader,
    body: ReportStatus,
    bodyLimit: 4 * 1024 * 1024,
    bodyValues: 100_000,
    answer: Job,
    refusals: ["job_ended", "not_job_holder"],
  }),
  appendLogs: endpoint("POST /api/jobs/{id}/logs", {
    summary: "Append to a job's log; a success response means it is stored",
    description:
      "One chunk, or several in `chunks`. With `seq`, counted from 1, a repeated post stores nothing twice. A post that arrives before its predecessor waits up to one second for it, then is refused with `expected_seq`. `job_status` informs the runner of a cancellation.",
    caller: "worker",
    params: jobParams,
    headers: attemptHeader,
    body: AppendLogs,
    bodyLimit: logBodyLimit,
    status: 201,
    answer: AppendedLogs,
    also: { 200: "All of it is already stored." },
    refusals: ["log_gap", "not_job_holder", "too_large"],
  }),
  readLogs: endpoint("GET /api/jobs/{id}/logs", {
    summary: "Read a job's log",
    description:
      "Ordered by id. Without `limit` the whole log is returned; with it, `next_after` is the start of the next page.",
    caller: "worker",
    params: jobParams,
    query: LogQuery,
    answer: LogPage,
  }),
  uploadPlanArtifact: endpoint("POST /api/jobs/{id}/plan-artifact", {
    summary: "Store the plan of a PLAN job; once per attempt",
    description:
      "Any bytes of any content type, at most 50 MiB. If the request has a digest, it is checked.",
    caller: "worker",
    params: jobParams,
    headers: {
      ...attemptHeader,
      "content-digest": Type.Optional(ContentDigest),
    },
    bytes: "request",
    bodyLimit: planArtifactLimit,
    status: 201,
    answer: PlanArtifact,
    also: { 200: "The same plan is already stored." },
    refusals: ["artifact_exists", "not_job_holder"],
  }),
  downloadPlanArtifact: endpoint("GET /api/jobs/{id}/plan-artifact", {
    summary: "Read the plan of this PLAN job, or the plan that this DEPLOY job applies",
    caller: "worker",
    params: jobParams,
    bytes: "response",
    also: {
      206: "The requested range.",
      304: "The content is unchanged (`If-None-Match`).",
    },
  }),
  uploadDebugLog: endpoint("POST /api/jobs/{id}/debug-log", {
    summary: "Store the debug log of a job that asks for one; once per attempt",
    description:
      "A gzip file, at most 100 MiB, sent before the end is reported. Secrets that the runner knows are masked in it. If the request has a digest, it is checked.",
    caller: "worker",
    params: jobParams,
    headers: {
      ...attemptHeader,
      "content-digest": Type.Optional(ContentDigest),
    },
    bytes: "request",
    media: "application/gzip",
    bodyLimit: debugLogLimit,
    status: 201,
    answer: DebugLog,
    also: { 200: "The same debug log is already stored." },
    refusals: ["artifact_exists", "job_ended", "not_job_holder"],
  }),
  downloadSource: endpoint("GET /api/jobs/{id}/source", {
    summary: "Read the uploaded archive that is the source of this job",
    caller: "worker",
    params: jobParams,
    bytes: "response",
    media: "application/gzip",
    also: {
      206: "The requested range.",
      304: "The content is unchanged (`If-None-Match`).",
    },
  }),
};
