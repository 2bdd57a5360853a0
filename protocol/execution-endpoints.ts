/** The endpoints of a runner that holds a job. */
import { Type } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  AppendedLogs,
  AppendLogs,
  attemptHeader,
  ClaimedJob,
  DebugLog,
  debugLogLimit,
  logBodyLimit,
  PlanArtifact,
  planArtifactLimit,
  ReportStatus,
  Wait,
} from "./executions.ts";
import { ContentDigest } from "./fields.ts";
import { Job, jobParams, LogPage, LogQuery } from "./jobs.ts";

const AttemptHeaders = Type.Object(attemptHeader);

export const executionEndpoints = {
  claimJob: endpoint({
    method: "POST",
    path: "/api/jobs/claim",
    summary: "Take the oldest job this worker may have; 204 when there is none",
    description:
      "With `wait` the request stays open until there is a job. The same `Idempotency-Key` within 10 minutes repeats an answer that was lost. Terraform is started only after PROCESSING was reported.",
    caller: "worker",
    query: Wait,
    headers: Type.Object({
      "idempotency-key": Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description: "Made anew for each claim and kept for its repeats: they get the same job.",
          examples: ["claim-7f3a5c0e"],
        }),
      ),
    }),
    status: 200,
    answer: ClaimedJob,
    also: { 204: "No job for this worker now." },
  }),
  reportStatus: endpoint({
    method: "PUT",
    path: "/api/jobs/{id}/status",
    summary: "Report the start or the end of a job",
    description:
      "PROCESSING is reported before anything runs. An end is recorded also when it comes late: it is what happened. The same report again changes nothing. Only a wrong `status` is refused: of the other fields, text that is too long is cut, and what is not valid is ignored.",
    caller: "worker",
    params: jobParams,
    headers: AttemptHeaders,
    body: ReportStatus,
    bodyLimit: 4 * 1024 * 1024,
    bodyValues: 100_000,
    status: 200,
    answer: Job,
    refusals: ["job_ended", "not_job_holder"],
  }),
  appendLogs: endpoint({
    method: "POST",
    path: "/api/jobs/{id}/logs",
    summary: "Append to a job's log; what is answered is stored",
    description:
      "One chunk, or several in `chunks`. With `seq`, counted from 1, a repeated post stores nothing twice; one ahead of its turn waits a second for its predecessor, then is refused with `expected_seq`. `job_status` tells the runner of a cancel.",
    caller: "worker",
    params: jobParams,
    headers: AttemptHeaders,
    body: AppendLogs,
    bodyLimit: logBodyLimit,
    status: 201,
    answer: AppendedLogs,
    also: { 200: "All of it was stored before." },
    refusals: ["log_gap", "not_job_holder", "too_large"],
  }),
  readLogs: endpoint({
    method: "GET",
    path: "/api/jobs/{id}/logs",
    summary: "Read a job's log",
    description:
      "In the order of ids; without `limit` all of it. A page with `limit` says in `next_after` where the next begins.",
    caller: "worker",
    params: jobParams,
    query: LogQuery,
    status: 200,
    answer: LogPage,
  }),
  uploadPlanArtifact: endpoint({
    method: "POST",
    path: "/api/jobs/{id}/plan-artifact",
    summary: "Store the plan of a PLAN job; once per attempt",
    description:
      "Any bytes of any content type, at most 50 MiB. A digest that is sent with it is checked.",
    caller: "worker",
    params: jobParams,
    headers: Type.Object({
      ...attemptHeader,
      "content-digest": Type.Optional(ContentDigest),
    }),
    bytes: "request",
    bodyLimit: planArtifactLimit,
    status: 201,
    answer: PlanArtifact,
    also: { 200: "The very same was stored before." },
    refusals: ["artifact_exists", "not_job_holder"],
  }),
  downloadPlanArtifact: endpoint({
    method: "GET",
    path: "/api/jobs/{id}/plan-artifact",
    summary: "Read the plan of this job, or of the PLAN job that this DEPLOY names",
    caller: "worker",
    params: jobParams,
    bytes: "response",
    status: 200,
    also: {
      206: "The part that `Range` asks for.",
      304: "What `If-None-Match` names is still the content.",
    },
  }),
  uploadDebugLog: endpoint({
    method: "POST",
    path: "/api/jobs/{id}/debug-log",
    summary: "Store the debug log of a job that asks for one; once per attempt",
    description:
      "A gzip file, at most 100 MiB, sent before the end is reported. Secrets that the runner knows are masked in it. A digest that is sent with it is checked.",
    caller: "worker",
    params: jobParams,
    headers: Type.Object({
      ...attemptHeader,
      "content-digest": Type.Optional(ContentDigest),
    }),
    bytes: "request",
    media: "application/gzip",
    bodyLimit: debugLogLimit,
    status: 201,
    answer: DebugLog,
    also: { 200: "The very same was stored before." },
    refusals: ["artifact_exists", "job_ended", "not_job_holder"],
  }),
  downloadSource: endpoint({
    method: "GET",
    path: "/api/jobs/{id}/source",
    summary: "Read the uploaded archive that is this job's source",
    caller: "worker",
    params: jobParams,
    bytes: "response",
    status: 200,
    media: "application/gzip",
    also: {
      206: "The part that `Range` asks for.",
      304: "What `If-None-Match` names is still the content.",
    },
  }),
};
