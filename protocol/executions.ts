/** What a runner says about the job it holds: claim, status, log, plan artifact, source. Unknown fields are ignored. */
import { Type, type Static } from "typebox";
import { ConfigSnapshot } from "./configurations.ts";
import { endpoint } from "./endpoint.ts";
import { ErrorMessage, Nullable, OneOf, Sha256, Uuid } from "./fields.ts";
import {
  ExecutionMetadata,
  Job,
  JobStatus,
  JobType,
  jobParams,
  LogPage,
  LogQuery,
  StreamType,
} from "./jobs.ts";
import { PlanSummary } from "./plan-summary.ts";

/** The interface's limit of a plan artifact: 50 MB, read as 50 MiB. */
export const planArtifactLimit = 52_428_800;
/** A log post carries at most this many chunks … */
export const logChunksLimit = 200;
/** … and this many bytes of body. JSON may write one character as six, hence the room above 1 MiB of text. */
export const logBodyLimit = 8 * 1024 * 1024;
/** Text of one post. */
export const logTextLimit = 1024 * 1024;

export const CloudIdentityCredentials = Type.Object({
  provider: Type.String(),
  role_arn: Type.Optional(Type.String()),
  external_id: Type.Optional(Type.String()),
});
export type CloudIdentityCredentials = Static<typeof CloudIdentityCredentials>;

/** A claimed job. Everything after `zone_id` is an addition that a server of the bare interface does not send. */
export const ClaimedJob = Type.Object({
  job: Type.Object({
    id: Uuid,
    job_type: JobType,
    config_snapshot: ConfigSnapshot,
    spec_id: Nullable(Uuid),
    zone_id: Nullable(Uuid),
    plan_job_id: Type.Optional(Nullable(Uuid)),
    attempt: Type.Optional(Type.Integer()),
    timeout_seconds: Type.Optional(Type.Integer()),
    job_token: Type.Optional(Type.String()),
    /** DESTROY_WORKER: the worker to tear down and the resource addresses to destroy; none means all. */
    assigned_worker_id: Type.Optional(Nullable(Uuid)),
    targets: Type.Optional(Type.Array(Type.String({ maxLength: 1024 }))),
  }),
  cloud_identity: Type.Optional(Nullable(CloudIdentityCredentials)),
});
export type ClaimedJob = Static<typeof ClaimedJob>;

/** Sent with every report, log and artifact: which handing-out of the job this is. */
const attemptHeader = {
  "x-job-attempt": Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
};
const AttemptHeaders = Type.Object(attemptHeader);

export const ReportStatus = Type.Object({
  status: OneOf(["PROCESSING", "SUCCESS", "FAILED", "CANCELLED"]),
  execution_metadata: Type.Optional(Nullable(ExecutionMetadata)),
  error_message: Type.Optional(Nullable(ErrorMessage)),
  /** What the plan that the job made would do. */
  plan_summary: Type.Optional(Nullable(PlanSummary)),
  /** How many log chunks were posted with `seq`; from it the server knows whether the log is complete. */
  last_seq: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});
export type ReportStatus = Static<typeof ReportStatus>;

const Seq = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const SequencedChunk = Type.Object({
  log_chunk: Type.String({ maxLength: logTextLimit }),
  stream_type: StreamType,
  seq: Seq,
});
export type SequencedChunk = Static<typeof SequencedChunk>;

/** Either one chunk (`log_chunk`, `stream_type`, perhaps `seq`) or `chunks`; the service refuses neither or both. */
export const AppendLogs = Type.Object({
  log_chunk: Type.Optional(Type.String({ maxLength: logTextLimit })),
  stream_type: Type.Optional(StreamType),
  seq: Type.Optional(Seq),
  chunks: Type.Optional(Type.Array(SequencedChunk, { minItems: 1, maxItems: logChunksLimit })),
});
export type AppendLogs = Static<typeof AppendLogs>;

export const AppendedLogs = Type.Object({ id: Type.Integer(), job_status: JobStatus });
export type AppendedLogs = Static<typeof AppendedLogs>;

export const PlanArtifact = Type.Object({
  job_id: Uuid,
  size_bytes: Type.Integer(),
  sha256: Sha256,
});
export type PlanArtifact = Static<typeof PlanArtifact>;

export const waitSecondsLimit = 30;
export const Wait = Type.Object({
  wait: Type.Optional(Type.Number({ minimum: 0, maximum: waitSecondsLimit })),
});

export const executionEndpoints = {
  claimJob: endpoint({
    method: "POST",
    path: "/api/jobs/claim",
    summary: "Take the oldest job this worker may have; 204 when there is none",
    caller: "worker",
    query: Wait,
    headers: Type.Object({
      "idempotency-key": Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    }),
    status: 200,
    answer: ClaimedJob,
  }),
  reportStatus: endpoint({
    method: "PUT",
    path: "/api/jobs/{id}/status",
    summary: "Report the start or the end of a job",
    caller: "worker",
    params: jobParams,
    headers: AttemptHeaders,
    body: ReportStatus,
    bodyLimit: 4 * 1024 * 1024,
    status: 200,
    answer: Job,
  }),
  appendLogs: endpoint({
    method: "POST",
    path: "/api/jobs/{id}/logs",
    summary: "Append to a job's log; what is answered is stored",
    caller: "worker",
    params: jobParams,
    headers: AttemptHeaders,
    body: AppendLogs,
    bodyLimit: logBodyLimit,
    status: 201,
    answer: AppendedLogs,
  }),
  readLogs: endpoint({
    method: "GET",
    path: "/api/jobs/{id}/logs",
    summary: "Read a job's log",
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
    caller: "worker",
    params: jobParams,
    headers: Type.Object({
      ...attemptHeader,
      "content-digest": Type.Optional(Type.String({ maxLength: 500 })),
    }),
    bytes: "request",
    bodyLimit: planArtifactLimit,
    status: 201,
    answer: PlanArtifact,
  }),
  downloadPlanArtifact: endpoint({
    method: "GET",
    path: "/api/jobs/{id}/plan-artifact",
    summary: "Read the plan of this job, or of the PLAN job that this DEPLOY names",
    caller: "worker",
    params: jobParams,
    bytes: "response",
    status: 200,
  }),
  downloadSource: endpoint({
    method: "GET",
    path: "/api/jobs/{id}/source",
    summary: "Read the uploaded archive that is this job's source",
    caller: "worker",
    params: jobParams,
    bytes: "response",
    status: 200,
  }),
};
