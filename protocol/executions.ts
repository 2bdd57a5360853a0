/** What a runner says about the job it holds: claim, status, log, plan artifact, source. Unknown fields are ignored. */
import { Type, type Static } from "typebox";
import { ClaimedSnapshot } from "./configurations.ts";
import { about, ErrorMessage, Nullable, OneOf, Sha256, Uuid } from "./fields.ts";
import { ExecutionMetadata, JobStatus, JobType, LogStep, StreamType } from "./jobs.ts";
import { PlanSummary } from "./plan-summary.ts";

export { debugLogLimit, planArtifactLimit } from "./limits.ts";
/** A log post carries at most this many chunks … */
export const logChunksLimit = 200;
/** … and this many bytes of body. JSON may write one character as six, hence the room above the text. */
export const logBodyLimit = 8 * 1024 * 1024;
/** Text of one post, all its chunks together, in bytes of UTF-8. */
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
    config_snapshot: ClaimedSnapshot,
    spec_id: Nullable(Uuid),
    zone_id: Nullable(Uuid),
    plan_job_id: Type.Optional(
      about(Nullable(Uuid), "Of a DEPLOY: the PLAN whose artifact is applied."),
    ),
    attempt: Type.Optional(about(Type.Integer(), "Sent back as `X-Job-Attempt`.")),
    timeout_seconds: Type.Optional(Type.Integer()),
    debug: Type.Optional(
      about(Type.Boolean(), "Keep terraform's debug log and send it before the end is reported."),
    ),
    job_token: Type.Optional(
      about(
        Type.String(),
        "Opens the managed state of this configuration, with the job's id as user.",
      ),
    ),
    assigned_worker_id: Type.Optional(
      about(Nullable(Uuid), "Of DESTROY_WORKER: the worker to tear down."),
    ),
    targets: Type.Optional(
      about(
        Type.Array(Type.String({ maxLength: 1024 })),
        "Of DESTROY_WORKER: the resource addresses to destroy; none means all.",
      ),
    ),
    deployed_backend: Type.Optional(
      about(
        Nullable(OneOf(["managed", "own"])),
        "Where the last DEPLOY of the configuration kept its state, as its runner reported.",
      ),
    ),
  }),
  cloud_identity: Type.Optional(Nullable(CloudIdentityCredentials)),
});
export type ClaimedJob = Static<typeof ClaimedJob>;

/** Sent with every report, log and artifact: which handing-out of the job this is. */
export const attemptHeader = {
  "x-job-attempt": Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "The `attempt` of the claim: a report of another one is refused.",
    }),
  ),
};

export const ReportStatus = Type.Object({
  status: OneOf(["PROCESSING", "SUCCESS", "FAILED", "CANCELLED"]),
  execution_metadata: Type.Optional(Nullable(ExecutionMetadata)),
  error_message: Type.Optional(Nullable(ErrorMessage)),
  outcome_unknown: Type.Optional(
    about(
      Type.Boolean(),
      "Of FAILED and CANCELLED: the runner went down in the middle of an apply and cannot say what it did. A lock of the managed state stays until a person unlocks it.",
    ),
  ),
  /** What the plan that the job made would do. */
  plan_summary: Type.Optional(Nullable(PlanSummary)),
  backend: Type.Optional(
    about(
      OneOf(["managed", "own"]),
      "Where the state is kept that the job has applied to: `managed` here, `own` in the backend that the files declare. Later jobs are told.",
    ),
  ),
  last_seq: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "How many log chunks were posted with `seq`: says whether the log is complete.",
    }),
  ),
});
export type ReportStatus = Static<typeof ReportStatus>;

const Seq = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "The chunk's place in the log of this attempt, from 1 without a gap.",
});

const Step = about(LogStep, "Of a SYSTEM chunk: a step of the job starts or ends here.");

/** Its limit is that of the post, whose bytes the service counts. */
const LogText = Type.String({ maxLength: logBodyLimit });

export const SequencedChunk = Type.Object({
  log_chunk: LogText,
  stream_type: StreamType,
  seq: Seq,
  step: Type.Optional(Step),
});
export type SequencedChunk = Static<typeof SequencedChunk>;

/** Either one chunk (`log_chunk`, `stream_type`, perhaps `seq`) or `chunks`; the service refuses neither or both. */
export const AppendLogs = Type.Object({
  log_chunk: Type.Optional(LogText),
  stream_type: Type.Optional(StreamType),
  seq: Type.Optional(Seq),
  step: Type.Optional(Step),
  chunks: Type.Optional(
    Type.Array(SequencedChunk, {
      minItems: 1,
      maxItems: logChunksLimit,
      description: "In place of the one chunk above; together at most 1 MiB of text.",
    }),
  ),
});
export type AppendLogs = Static<typeof AppendLogs>;

export const AppendedLogs = Type.Object({
  id: about(Type.Integer(), "The log id of the last chunk."),
  job_status: about(JobStatus, "CANCELLED tells the runner to stop."),
});
export type AppendedLogs = Static<typeof AppendedLogs>;

export const PlanArtifact = Type.Object({
  job_id: Uuid,
  size_bytes: Type.Integer(),
  sha256: Sha256,
});
export type PlanArtifact = Static<typeof PlanArtifact>;

export const DebugLog = Type.Object({
  job_id: Uuid,
  size_bytes: about(Type.Integer(), "Of the gzip file."),
});
export type DebugLog = Static<typeof DebugLog>;

export const waitSecondsLimit = 30;
export const Wait = Type.Object({
  wait: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: waitSecondsLimit,
      description:
        "Seconds for which the request may stay open; without it the answer comes at once.",
      examples: [30],
    }),
  ),
});
