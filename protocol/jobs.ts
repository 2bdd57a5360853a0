/** Jobs and their logs. */
import { Type, type Static } from "typebox";
import { Approval, ApprovalNeed } from "./approvals.ts";
import { ConfigSnapshot, outputsOmitted } from "./configurations.ts";
import {
  about,
  ErrorMessage,
  JsonObject,
  Labels,
  Nullable,
  OneOf,
  Paging,
  StoredName,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { changeFields } from "./follow.ts";
import { JobFailure } from "./job-failure.ts";
import { JobWarnings } from "./job-warnings.ts";
import { MadeKnown } from "./made-known.ts";
import { timeoutSecondsLimit, jobTypes, planTextLimit } from "./limits.ts";
import { creatorFields } from "./schedules.ts";
import { MergedCommits } from "./source-merge.ts";
import { failedChecks, PlanAction, PlanCounts } from "./plan-counts.ts";
import { planOptionFields, PlanOptions } from "./plan-options.ts";
import { plannedFiles, shownFiles } from "./planned-files.ts";
import { numbersNote } from "./values.ts";
import { OptionalWaitingDetails, ShownWaitingReason } from "./waiting.ts";

export const JobType = OneOf(jobTypes);
export type JobType = Static<typeof JobType>;

export const jobStatuses = ["QUEUED", "PROCESSING", "SUCCESS", "FAILED", "CANCELLED"] as const;
export const JobStatus = OneOf(jobStatuses);
export type JobStatus = Static<typeof JobStatus>;

/** Limit of the outputs that are kept of one job. */
export const outputsLimit = 1000;
/** Limit of the three named outputs in characters. */
export const outputTextLimit = 4096;

/** Results of a job. The three named fields come from non-sensitive string outputs of that name. */
export const ExecutionMetadata = Type.Object(
  {
    cluster_name: Type.Optional(Type.String({ maxLength: outputTextLimit })),
    cluster_endpoint: Type.Optional(Type.String({ maxLength: outputTextLimit })),
    gitops_url: Type.Optional(Type.String({ maxLength: outputTextLimit })),
    outputs: Type.Optional(
      about(
        JsonObject,
        `All outputs. A sensitive output has only its name and type. One whose value is too large to be kept has no \`value\`, and its size as JSON as \`omitted_bytes\`. ${numbersNote}`,
      ),
    ),
    outputs_omitted: Type.Optional(outputsOmitted),
    source_commit: Type.Optional(
      about(
        Type.String({ maxLength: outputTextLimit }),
        "Of a source in git: the commit that the runner checked out, whatever the end of the job.",
      ),
    ),
    merged: Type.Optional(MergedCommits),
    warnings: Type.Optional(JobWarnings),
    made_known: Type.Optional(MadeKnown),
  },
  { additionalProperties: true },
);
export type ExecutionMetadata = Static<typeof ExecutionMetadata>;

const LogComplete = Nullable(Type.Boolean());

/** What became of one resource of an apply that did not succeed. */
export const ResourceOutcome = Type.Object({
  address: Type.String({ maxLength: planTextLimit }),
  action: PlanAction,
  outcome: about(
    OneOf(["done", "failed", "not_finished", "not_reached", "unknown"]),
    "`not_finished`: it was begun, and its runner did not tell its end. `unknown`: its runner was lost before it told anything of it.",
  ),
});
export type ResourceOutcome = Static<typeof ResourceOutcome>;

export const ResourceProgress = Type.Object({
  done: Type.Integer(),
  open: about(Type.Integer(), "Under way, or not finished when the job ended."),
  failed: Type.Integer(),
  total: about(Nullable(Type.Integer()), "How many the plan changes; null if this is not known."),
  resources: Type.Optional(
    Type.Array(ResourceOutcome, {
      description:
        "Of an apply that failed or was cancelled, or that succeeded without a PLAN: what became of each resource, as far as the plan and the runner tell.",
    }),
  ),
});
export type ResourceProgress = Static<typeof ResourceProgress>;

export const Job = Type.Object({
  id: Uuid,
  job_type: JobType,
  status: JobStatus,
  configuration_id: about(Nullable(Uuid), "The configuration; null after it is deleted."),
  configuration_name: Type.Optional(
    about(
      Nullable(Type.String()),
      "The name of the configuration when the job was created, as in `config_snapshot`; null if the job has none.",
    ),
  ),
  spec_id: about(Nullable(Uuid), "The same as `configuration_id`."),
  zone_id: Nullable(Uuid),
  cloud_identity_id: Nullable(Uuid),
  assigned_worker_id: about(
    Nullable(Uuid),
    "The worker whose runner alone may run the job; DESTROY_WORKER: the worker to tear down.",
  ),
  worker_id: about(Nullable(Uuid), "The worker that holds the job, or was the last to hold it."),
  plan_job_id: about(Nullable(Uuid), "DEPLOY: the PLAN job whose artifact is applied."),
  labels: Labels,
  config_hash: about(
    Nullable(Type.String()),
    "SHA-256 of `config_snapshot` as canonical JSON (RFC 8785), each sensitive value as HMAC-SHA-256 under a key of the server.",
  ),
  config_snapshot: about(
    Nullable(ConfigSnapshot),
    "The configuration as it was when the job was created, without sensitive values.",
  ),
  execution_metadata: Nullable(ExecutionMetadata),
  ...creatorFields,
  ...changeFields,
  changes: about(
    Nullable(PlanCounts),
    "How many resources its plan changes; null if its runner has not reported a plan.",
  ),
  failed_checks: failedChecks(
    "How many checks of a job that succeeded fail: PLAN: in its plan, DEPLOY: after its apply. A failed `check` block is a warning. Null if its runner has not told it.",
  ),
  resource_progress: Type.Optional(
    about(
      Nullable(ResourceProgress),
      "How many resources terraform has changed; null if its runner has not told it. Absent in lists and in the response to a report, which would read the log of each job.",
    ),
  ),
  apply_began: Type.Optional(
    about(
      Nullable(Type.Boolean()),
      "Of a job that failed or was cancelled: whether terraform began to apply; null if its runner has not told it. Absent where `resource_progress` is.",
    ),
  ),
  error_message: Nullable(ErrorMessage),
  failure: Type.Optional(about(Nullable(JobFailure), "Null if its runner has not reported it.")),
  cancelled_by: Type.Optional(
    about(
      Nullable(Type.String()),
      "The name of the person who cancelled it, as in the audit log; null if no person did, or if this is not known.",
    ),
  ),
  waiting_reason: about(
    Nullable(ShownWaitingReason),
    "Why the job is not running yet: one of the listed words, or a sentence about the approvals that it waits for, or about jobs that go first; null unless QUEUED.",
  ),
  waiting_details: OptionalWaitingDetails,
  approvals: Type.Optional(
    Type.Array(Approval, {
      description: "What people have decided about it, the first decision first.",
    }),
  ),
  approval_need: Type.Optional(
    about(
      Nullable(ApprovalNeed),
      "Who must approve it, and how many are missing: by a rule that covers it, or one deployer for the DEPLOY after a merge whose plan differs from the reviewed one. Null unless it is QUEUED, or the newest PLAN of an open pull request, and people must approve it.",
    ),
  ),
  attempt: about(Type.Integer(), "How often the job has been claimed; 0 before the first claim."),
  timeout_seconds: about(Type.Integer(), "The runner stops a job that runs longer."),
  presumed_lost_at: about(
    Nullable(Timestamp),
    "When its runner was considered lost; null again after that runner has reported the outcome.",
  ),
  outcome_unknown: about(
    Type.Boolean(),
    "Whether it is unknown what an ended job changed: its runner was lost or could not tell.",
  ),
  log_complete: about(
    LogComplete,
    "Whether the server has every chunk of the log; null while this is unknown.",
  ),
  log_pruned_at: about(
    Nullable(Timestamp),
    "When retention removed the log. The job and its outcome are kept.",
  ),
  ...shownFiles,
  plan_options: about(
    Nullable(PlanOptions),
    "How a PLAN, or the plan that a DEPLOY applies, differs from an ordinary plan.",
  ),
  debug: about(Type.Boolean(), "Whether terraform's debug log is kept as a file of the job."),
  debug_log_bytes: about(
    Nullable(Type.Integer()),
    "The size of that file, compressed with gzip; null if there is none.",
  ),
  created_at: Timestamp,
  claimed_at: about(Nullable(Timestamp), "When a runner claimed it."),
  started_at: about(
    Nullable(Timestamp),
    "When it began to run. A started job is never claimed again.",
  ),
  ended_at: about(
    Nullable(Timestamp),
    "When it ended. If it was cancelled or its runner was lost, the time of that until its runner reports the end.",
  ),
  released_at: about(
    Nullable(Timestamp),
    "When the job was released: since then, the next job of its configuration may be claimed.",
  ),
});
export type Job = Static<typeof Job>;

export const CreateJob = Type.Object(
  {
    job_type: JobType,
    configuration_id: Type.Optional(
      about(Uuid, "The configuration to run; not with DESTROY_WORKER."),
    ),
    assigned_worker_id: Type.Optional(
      about(
        Nullable(Uuid),
        "The worker whose runner alone may run the job; DESTROY_WORKER: the worker to tear down.",
      ),
    ),
    plan_job_id: Type.Optional(
      about(Nullable(Uuid), "DEPLOY: apply the artifact of this PLAN job."),
    ),
    ...plannedFiles,
    ...planOptionFields,
    labels: Type.Optional(about(Labels, "Instead of the configuration's labels.")),
    debug: Type.Optional(
      about(
        Type.Boolean(),
        "Keep terraform's log with TF_LOG=DEBUG as a file of the job. Known sensitive values are masked in it, but requests and responses of providers may contain other secrets.",
      ),
    ),
  },
  { additionalProperties: false },
);
export type CreateJob = Static<typeof CreateJob>;

export const StreamType = OneOf(["STDOUT", "STDERR", "SYSTEM"]);
export type StreamType = Static<typeof StreamType>;

/** The start or the end of a step of a job, such as `plan`. Only for display. */
export const LogStep = Type.Object({
  name: about(StoredName, "What the runner calls the step."),
  event: OneOf(["started", "ended"]),
  at: about(Timestamp, "By the runner's clock."),
});
export type LogStep = Static<typeof LogStep>;

/** What terraform says of one resource while it applies. Only for display. */
export const LogResource = Type.Object({
  address: Type.String({ minLength: 1, maxLength: planTextLimit }),
  action: OneOf(["create", "update", "delete", "read", "import"]),
  event: OneOf(["started", "ended", "failed"]),
  at: about(Timestamp, "When the runner saw it, by its clock."),
  elapsed_seconds: Type.Optional(
    about(
      Type.Integer({ minimum: 0, maximum: timeoutSecondsLimit }),
      "`ended`: how long the change took, as terraform says.",
    ),
  ),
});
export type LogResource = Static<typeof LogResource>;

/** One stored chunk of a log. */
export const LogChunk = Type.Object({
  id: about(Type.Integer(), "Increases with every chunk and orders them."),
  job_id: Uuid,
  log_chunk: about(
    Type.String(),
    "Text with ANSI colours. It may begin and end within a line. Sensitive values are masked.",
  ),
  stream_type: StreamType,
  step: Type.Optional(about(LogStep, "The step of the job that starts or ends here.")),
  resource: Type.Optional(
    about(LogResource, "The resource whose change starts or ends with the first line."),
  ),
  created_at: Timestamp,
});
export type LogChunk = Static<typeof LogChunk>;

export const LogPage = Type.Object({
  logs: Type.Array(LogChunk),
  next_after: about(
    Nullable(Type.Integer()),
    "The `after` of the next page; null if this is the last one.",
  ),
  log_pruned_at: Type.Optional(
    about(Timestamp, "When retention removed the log; absent while it is kept."),
  ),
});
export type LogPage = Static<typeof LogPage>;

export const LogId = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "Return only chunks after the one with this id.",
});

export const LogQuery = {
  after: Type.Optional(LogId),
  limit: about(Paging.limit, "The number of chunks. Default: all."),
};

/** The progress of a job: the data of the stream's `status` and `end` events. */
export const JobProgress = Type.Object({
  id: Uuid,
  status: JobStatus,
  waiting_reason: Nullable(ShownWaitingReason),
  waiting_details: OptionalWaitingDetails,
  log_complete: LogComplete,
  log_pruned_at: Nullable(Timestamp),
});
export type JobProgress = Static<typeof JobProgress>;

export const jobParams = { id: about(Uuid, "The job.") };
