/** Jobs as people create, read and cancel them, and the log as everybody reads it. */
import { Type, type Static } from "typebox";
import { ConfigSnapshot } from "./configurations.ts";
import { endpoint } from "./endpoint.ts";
import {
  ErrorMessage,
  JsonObject,
  Labels,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  Timestamp,
  Uuid,
} from "./fields.ts";

export const jobTypes = ["PLAN", "DEPLOY", "DESTROY", "DESTROY_WORKER"] as const;
export const JobType = OneOf(jobTypes);
export type JobType = Static<typeof JobType>;

export const jobStatuses = ["QUEUED", "PROCESSING", "SUCCESS", "FAILED", "CANCELLED"] as const;
export const JobStatus = OneOf(jobStatuses);
export type JobStatus = Static<typeof JobStatus>;

/** Why a QUEUED job is not running yet; null on any other job. */
export const WaitingReason = OneOf([
  /** An online worker may take it and will when it has a free slot. */
  "waiting_for_worker",
  /** The owner has no worker whose labels include the job's. */
  "no_matching_worker",
  /** There are such workers, none of them online. */
  "no_worker_online",
  /** The asked-for worker is OFFLINE. */
  "assigned_worker_offline",
  /** The asked-for worker is DRAINING. */
  "assigned_worker_draining",
  /** Another job of the configuration is running or not released yet. */
  "configuration_busy",
  /** The state is locked by a job that was lost, or by a person. */
  "state_locked",
  /** DESTROY_WORKER: the worker to tear down still holds a job. */
  "worker_in_use",
]);
export type WaitingReason = Static<typeof WaitingReason>;

/** What a job left behind. The three named fields come from outputs of that name that are strings and not sensitive. */
export const ExecutionMetadata = Type.Object(
  {
    cluster_name: Type.Optional(Type.String({ maxLength: 4096 })),
    cluster_endpoint: Type.Optional(Type.String({ maxLength: 4096 })),
    gitops_url: Type.Optional(Type.String({ maxLength: 4096 })),
    outputs: Type.Optional(JsonObject),
  },
  { additionalProperties: true },
);
export type ExecutionMetadata = Static<typeof ExecutionMetadata>;

export const Job = Type.Object({
  id: Uuid,
  job_type: JobType,
  status: JobStatus,
  configuration_id: Nullable(Uuid),
  spec_id: Nullable(Uuid),
  zone_id: Nullable(Uuid),
  cloud_identity_id: Nullable(Uuid),
  assigned_worker_id: Nullable(Uuid),
  worker_id: Nullable(Uuid),
  plan_job_id: Nullable(Uuid),
  labels: Labels,
  config_hash: Nullable(Type.String()),
  config_snapshot: Nullable(ConfigSnapshot),
  execution_metadata: Nullable(ExecutionMetadata),
  error_message: Nullable(ErrorMessage),
  waiting_reason: Nullable(WaitingReason),
  attempt: Type.Integer(),
  timeout_seconds: Type.Integer(),
  log_complete: Nullable(Type.Boolean()),
  /** When retention removed the log; the job and its outcome stay. */
  log_pruned_at: Nullable(Timestamp),
  created_at: Timestamp,
  claimed_at: Nullable(Timestamp),
  started_at: Nullable(Timestamp),
  ended_at: Nullable(Timestamp),
  released_at: Nullable(Timestamp),
});
export type Job = Static<typeof Job>;

export const CreateJob = Type.Object(
  {
    job_type: JobType,
    configuration_id: Type.Optional(Uuid),
    assigned_worker_id: Type.Optional(Nullable(Uuid)),
    plan_job_id: Type.Optional(Nullable(Uuid)),
    labels: Type.Optional(Labels),
  },
  { additionalProperties: false },
);
export type CreateJob = Static<typeof CreateJob>;

export const StreamType = OneOf(["STDOUT", "STDERR", "SYSTEM"]);
export type StreamType = Static<typeof StreamType>;

/** One stored chunk of a log. `id` grows with every chunk and orders them. */
export const LogChunk = Type.Object({
  id: Type.Integer(),
  job_id: Uuid,
  log_chunk: Type.String(),
  stream_type: StreamType,
  created_at: Timestamp,
});
export type LogChunk = Static<typeof LogChunk>;

/** `next_after` is the `after` of the next page; null when this page was the last one at this moment. */
export const LogPage = Type.Object({
  logs: Type.Array(LogChunk),
  next_after: Nullable(Type.Integer()),
  /** When retention removed the log; missing while it is kept. */
  log_pruned_at: Type.Optional(Timestamp),
});
export type LogPage = Static<typeof LogPage>;

export const LogQuery = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
});

/** Where a job stands: the data of the stream's `status` and `end` events. */
export const JobProgress = Type.Object({
  id: Uuid,
  status: JobStatus,
  waiting_reason: Nullable(WaitingReason),
  log_complete: Nullable(Type.Boolean()),
  log_pruned_at: Nullable(Timestamp),
});
export type JobProgress = Static<typeof JobProgress>;

export const jobParams = Type.Object({ id: Uuid });

export const jobEndpoints = {
  createJob: endpoint({
    method: "POST",
    path: "/api/jobs",
    summary: "Queue a job",
    caller: "client",
    body: CreateJob,
    status: 201,
    answer: Job,
  }),
  listJobs: endpoint({
    method: "GET",
    path: "/api/jobs",
    summary: "List jobs, newest first",
    caller: "client",
    query: Type.Object({
      status: Type.Optional(JobStatus),
      zone_id: Type.Optional(Uuid),
      ...Paging,
    }),
    status: 200,
    answer: Type.Object({ jobs: Type.Array(Job), next_cursor: NextCursor }),
  }),
  getJob: endpoint({
    method: "GET",
    path: "/api/cli/jobs/{id}",
    summary: "Read a job",
    caller: "client",
    params: jobParams,
    status: 200,
    answer: Job,
  }),
  getJobLogs: endpoint({
    method: "GET",
    path: "/api/cli/jobs/{id}/logs",
    summary: "Read a job's log",
    caller: "client",
    params: jobParams,
    query: LogQuery,
    status: 200,
    answer: LogPage,
  }),
  streamJobLogs: endpoint({
    method: "GET",
    path: "/api/jobs/{id}/logs/stream",
    summary: "Follow a job's log as Server-Sent Events: log, status, and end after the last log",
    caller: "client",
    params: jobParams,
    query: Type.Object({
      after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    }),
    headers: Type.Object({
      "last-event-id": Type.Optional(
        Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      ),
    }),
    bytes: "response",
    status: 200,
  }),
  cancelJob: endpoint({
    method: "POST",
    path: "/api/cli/jobs/{id}/cancel",
    summary: "Cancel a job that is queued or running",
    caller: "client",
    params: jobParams,
    status: 200,
    answer: Job,
  }),
  retryJob: endpoint({
    method: "POST",
    path: "/api/cli/jobs/{id}/retry",
    summary: "Ask again, as a new job, for what a failed or cancelled job was asked for",
    caller: "client",
    params: jobParams,
    status: 201,
    answer: Job,
  }),
};
