/** Jobs as people create, read and cancel them, and the log as everybody reads it. */
import { Type, type Static } from "typebox";
import { ConfigSnapshot } from "./configurations.ts";
import {
  about,
  ErrorMessage,
  JsonObject,
  Labels,
  Name,
  Nullable,
  OneOf,
  Paging,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { jobTypes } from "./limits.ts";

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
  /** There are such workers, but no agent of theirs reports a feature that the job needs. */
  "needs_backend_config",
  "needs_debug",
  "needs_submodules",
  "needs_var_files",
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

/** Outputs of one job that are kept. */
export const outputsLimit = 1000;
/** Characters of an output that stands beside the outputs. */
export const outputTextLimit = 4096;

/** What a job left behind. The three named fields come from outputs of that name that are strings and not sensitive. */
export const ExecutionMetadata = Type.Object(
  {
    cluster_name: Type.Optional(Type.String({ maxLength: outputTextLimit })),
    cluster_endpoint: Type.Optional(Type.String({ maxLength: outputTextLimit })),
    gitops_url: Type.Optional(Type.String({ maxLength: outputTextLimit })),
    outputs: Type.Optional(
      about(JsonObject, "All outputs; of a sensitive one only its name and type."),
    ),
  },
  { additionalProperties: true },
);
export type ExecutionMetadata = Static<typeof ExecutionMetadata>;

const LogComplete = Nullable(Type.Boolean());

export const Job = Type.Object({
  id: Uuid,
  job_type: JobType,
  status: JobStatus,
  configuration_id: about(Nullable(Uuid), "The configuration; null once it is deleted."),
  spec_id: about(Nullable(Uuid), "The same configuration, under its name in the interface."),
  zone_id: Nullable(Uuid),
  cloud_identity_id: Nullable(Uuid),
  assigned_worker_id: about(
    Nullable(Uuid),
    "The worker that was asked for; of DESTROY_WORKER, the one to tear down.",
  ),
  worker_id: about(Nullable(Uuid), "The worker that holds the job, or held it last."),
  plan_job_id: about(Nullable(Uuid), "The PLAN whose artifact a DEPLOY applies."),
  labels: Labels,
  config_hash: about(
    Nullable(Type.String()),
    "SHA-256 of `config_snapshot` as canonical JSON (RFC 8785), each sensitive value as HMAC-SHA-256 under a key of the server.",
  ),
  config_snapshot: about(
    Nullable(ConfigSnapshot),
    "What runs, fixed when the job was created; sensitive values are left out.",
  ),
  execution_metadata: Nullable(ExecutionMetadata),
  error_message: Nullable(ErrorMessage),
  waiting_reason: about(Nullable(WaitingReason), "Why it is not running yet; null unless QUEUED."),
  attempt: about(Type.Integer(), "How often the job was handed out; 0 before the first time."),
  timeout_seconds: about(Type.Integer(), "After so long the runner stops it."),
  presumed_lost_at: about(
    Nullable(Timestamp),
    "When its runner was found lost; null again once that runner has reported how the job ended.",
  ),
  outcome_unknown: about(
    Type.Boolean(),
    "Whether it is unknown what an ended job did: its runner was lost, or could not say.",
  ),
  log_complete: about(
    LogComplete,
    "Whether every chunk that the runner counted is here; null while nobody knows.",
  ),
  log_pruned_at: about(
    Nullable(Timestamp),
    "When retention removed the log; the job and its outcome stay.",
  ),
  debug: about(Type.Boolean(), "Whether terraform's debug log is kept as a file of the job."),
  debug_log_bytes: about(
    Nullable(Type.Integer()),
    "Size of that file, as it is kept: gzip; null while there is none.",
  ),
  created_at: Timestamp,
  claimed_at: about(Nullable(Timestamp), "When a worker took it."),
  started_at: about(
    Nullable(Timestamp),
    "When it began to run; from then on it is never handed out again.",
  ),
  ended_at: about(Nullable(Timestamp), "When it came to its end."),
  released_at: about(
    Nullable(Timestamp),
    "When its worker let go of it and its configuration was free again.",
  ),
});
export type Job = Static<typeof Job>;

export const CreateJob = Type.Object(
  {
    job_type: JobType,
    configuration_id: Type.Optional(about(Uuid, "What to run; not with DESTROY_WORKER.")),
    assigned_worker_id: Type.Optional(
      about(
        Nullable(Uuid),
        "Only this worker may take it; of DESTROY_WORKER, the one to tear down.",
      ),
    ),
    plan_job_id: Type.Optional(about(Nullable(Uuid), "Of a DEPLOY: apply this PLAN's artifact.")),
    labels: Type.Optional(about(Labels, "In place of the configuration's.")),
    debug: Type.Optional(
      about(
        Type.Boolean(),
        "Keep what terraform writes under TF_LOG=DEBUG as a file of the job. What is known to be sensitive is masked in it, but requests and answers of providers may hold other secrets.",
      ),
    ),
  },
  { additionalProperties: false },
);
export type CreateJob = Static<typeof CreateJob>;

export const StreamType = OneOf(["STDOUT", "STDERR", "SYSTEM"]);
export type StreamType = Static<typeof StreamType>;

/** The start or the end of a step of a job, such as `plan`. For people; no decision rests on it. */
export const LogStep = Type.Object({
  name: about(Name, "What the runner calls the step."),
  event: OneOf(["started", "ended"]),
  at: about(Timestamp, "By the runner's clock."),
});
export type LogStep = Static<typeof LogStep>;

/** One stored chunk of a log. `id` grows with every chunk and orders them. */
export const LogChunk = Type.Object({
  id: about(Type.Integer(), "Grows with every chunk and orders them."),
  job_id: Uuid,
  log_chunk: about(
    Type.String(),
    "Text with terraform's colours (ANSI), cut anywhere; sensitive values are masked.",
  ),
  stream_type: StreamType,
  step: Type.Optional(about(LogStep, "The step of the job that starts or ends here.")),
  created_at: Timestamp,
});
export type LogChunk = Static<typeof LogChunk>;

/** `next_after` is the `after` of the next page; null when this page was the last one at this moment. */
export const LogPage = Type.Object({
  logs: Type.Array(LogChunk),
  next_after: about(
    Nullable(Type.Integer()),
    "The `after` of the next page; null when nothing followed.",
  ),
  log_pruned_at: Type.Optional(
    about(Timestamp, "When retention removed the log; missing while it is kept."),
  ),
});
export type LogPage = Static<typeof LogPage>;

/** Where a reader of a log goes on. */
export const LogId = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "Only chunks after the one with this id.",
});

export const LogQuery = Type.Object({
  after: Type.Optional(LogId),
  limit: about(Paging.limit, "How many chunks; without it all of them."),
});

/** Where a job stands: the data of the stream's `status` and `end` events. */
export const JobProgress = Type.Object({
  id: Uuid,
  status: JobStatus,
  waiting_reason: Nullable(WaitingReason),
  log_complete: LogComplete,
  log_pruned_at: Nullable(Timestamp),
});
export type JobProgress = Static<typeof JobProgress>;

export const jobParams = Type.Object({ id: about(Uuid, "The job.") });
