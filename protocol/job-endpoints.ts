/** The endpoints with which users create, read and cancel jobs. */
import { Type } from "typebox";
import { DecideJob } from "./approvals.ts";
import { endpoint } from "./endpoint.ts";
import {
  about,
  IdPrefix,
  label,
  Labels,
  Name,
  NextCursor,
  Paging,
  Timestamp,
  Uuid,
} from "./fields.ts";
import {
  CreateJob,
  Job,
  JobProgress,
  JobStatus,
  JobType,
  jobParams,
  LogChunk,
  LogId,
  LogPage,
  LogQuery,
} from "./jobs.ts";

/** The service checks more, by the job, and names the role in a refusal; all need this. */
const dependsOnJob = "read";

export const jobEndpoints = {
  createJob: endpoint("POST /api/jobs", {
    summary: "Queue a job",
    description:
      "`configuration_id` is required, except for DESTROY_WORKER, which requires `assigned_worker_id`, the worker to tear down. A DEPLOY with `plan_job_id` applies exactly that plan, once. Without it, the job plans and applies, which is refused where the configuration has an approval rule, as DESTROY is: PLAN with `destroy` instead.",
    permission: dependsOnJob,
    inZones: true,
    belongsTo: { configuration_id: "configurations", assigned_worker_id: "workers" },
    body: CreateJob,
    bodyLimit: 4 * 1024 * 1024,
    status: 201,
    answer: Job,
    refusals: [
      "not_found",
      "invalid_plan",
      "forbidden_environment_name",
      "plan_already_used",
      "plan_is_stale",
      "plan_required",
      "no_deploy_configuration",
      "not_deployed",
      "quota_exceeded",
      "changed_meanwhile",
      "too_many_requests",
    ],
  }),
  listJobs: endpoint("GET /api/jobs", {
    summary: "List jobs, newest first",
    description:
      "With several filters, a page may have fewer jobs than `limit`, or none, because each page searches a bounded part of the history. The list continues while `next_cursor` is not null.",
    permission: "read",
    inZones: true,
    query: {
      status: Type.Optional(about(JobStatus, "Only jobs with this status.")),
      zone_id: Type.Optional(
        about(Uuid, "Only jobs whose configuration was in this zone when they were created."),
      ),
      configuration: Type.Optional(
        about(Name, "Only jobs of this configuration: its id or its name."),
      ),
      job_type: Type.Optional(about(JobType, "Only jobs of this type.")),
      mine: Type.Optional(about(Type.Boolean(), "Only jobs that the caller created.")),
      waiting_for_me: Type.Optional(
        about(Type.Boolean(), "Only deployments that wait for the caller's approval."),
      ),
      since: Type.Optional(about(Timestamp, "Only those created at or after this time.")),
      until: Type.Optional(about(Timestamp, "Only those created before this time.")),
      id_prefix: Type.Optional(IdPrefix),
      ...Paging,
    },
    answer: Type.Object({ jobs: Type.Array(Job), next_cursor: NextCursor }),
    refusals: ["not_found"],
  }),
  countQueue: endpoint("GET /api/cli/queue", {
    summary: "Count the jobs that a runner could claim now, by the labels that they need",
    description:
      "For scaling runners. Jobs that wait for an approval, a lock or an earlier job of their configuration are left out, and so are those for one worker. Of the queued jobs of a configuration that need the same labels, the next one counts.",
    permission: "read",
    query: {
      labels: Type.Optional(
        Type.String({
          maxLength: 2047,
          pattern: `^(${label}(,${label})*)?$`,
          "x-form": "labels, separated by commas",
          description:
            "Labels of a runner, separated by commas: only the jobs that it could claim. Empty: only those that need no label.",
          examples: ["gpu,eu-west"],
        }),
      ),
    },
    answer: Type.Object({
      total: about(Type.Integer(), "The sum of the counts."),
      counts: Type.Array(Type.Object({ labels: Labels, count: Type.Integer() })),
    }),
  }),
  getJob: endpoint("GET /api/cli/jobs/{id}", {
    summary: "Read a job",
    permission: "read",
    inZones: true,
    params: jobParams,
    answer: Job,
  }),
  getJobLogs: endpoint("GET /api/cli/jobs/{id}/logs", {
    summary: "Read a job's log",
    description:
      "Ordered by id. Without `limit` the whole log is returned; with it, `next_after` is the start of the next page.",
    permission: "read",
    inZones: true,
    params: jobParams,
    query: LogQuery,
    answer: LogPage,
  }),
  downloadDebugLog: endpoint("GET /api/cli/jobs/{id}/debug-log", {
    summary: "Download the debug log of a job, a gzip file; it may hold secrets",
    description:
      "What terraform wrote with TF_LOG=DEBUG, if the job was created with `debug`. 404 before the job has ended, and after retention has removed the log.",
    permission: "deploy",
    inZones: true,
    params: jobParams,
    bytes: "response",
    media: "application/gzip",
    also: {
      206: "The requested range.",
      304: "The content is unchanged (`If-None-Match`).",
    },
  }),
  streamJobLogs: endpoint("GET /api/jobs/{id}/logs/stream", {
    summary: "Follow a job's log as Server-Sent Events: log, status, and end after the last log",
    description:
      "Events: `log` (data: a LogChunk, id: its id), `status` and `end` (data: a JobProgress). After `end` the connection closes; a comment every 15 s keeps it open. `Last-Event-ID` or `after` resumes without gaps or duplicates.",
    permission: "read",
    inZones: true,
    params: jobParams,
    query: {
      after: Type.Optional(LogId),
    },
    headers: {
      "last-event-id": Type.Optional(
        about(LogId, "Sent by a browser when it reconnects; takes precedence over `after`."),
      ),
    },
    bytes: "response",
    media: "text/event-stream",
    events: { log: LogChunk, status: JobProgress, end: JobProgress },
    refusals: ["too_many_requests"],
  }),
  cancelJob: endpoint("POST /api/cli/jobs/{id}/cancel", {
    summary: "Cancel a job that is queued or running",
    description:
      "The job becomes CANCELLED at once. A connected runner is notified at once, stops terraform and reports. A runner that cannot reach the server goes on; it is notified by its next heartbeat or log post. If it stays away until it is considered lost (30 s after it is OFFLINE), the job is released with `outcome_unknown`, and its state stays locked until the runner reports or a user unlocks it. A job that was never started ends without its runner.",
    permission: dependsOnJob,
    inZones: true,
    params: jobParams,
    answer: Job,
    refusals: ["job_ended"],
  }),
  retryJob: endpoint("POST /api/cli/jobs/{id}/retry", {
    summary: "Queue a new job with the request of a failed or cancelled one",
    description:
      "A plan is applied only once, so for a DEPLOY of a plan the new job is a PLAN with the same request as that plan.",
    permission: dependsOnJob,
    inZones: true,
    params: jobParams,
    status: 201,
    answer: Job,
    refusals: [
      "job_not_retryable",
      "no_deploy_configuration",
      "not_deployed",
      "plan_required",
      "quota_exceeded",
      "changed_meanwhile",
      "too_many_requests",
    ],
  }),
  decideJob: endpoint("POST /api/jobs/{id}/approvals", {
    summary:
      "Approve or reject a deployment, or the plan of an open pull request, that people must approve",
    description:
      "Each person has one vote; their last one counts until the job starts. A rejection cancels a deployment. Approvals of the newest plan of a pull request count for its DEPLOY after the merge, if that deploys the same; a new commit voids them. Access tokens cannot approve, and the users who created the PLAN and the DEPLOY, or whose connected account opened the pull request or pushed its head, only if the rule has `by_author`.",
    permission: "approve",
    inZones: true,
    params: jobParams,
    body: DecideJob,
    answer: Job,
    refusals: [
      "approver_is_author",
      "quota_exceeded",
      "approval_not_needed",
      "job_ended",
      "job_started",
      "plan_is_stale",
      "plan_required",
    ],
  }),
};
