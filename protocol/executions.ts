/** The messages of a runner about the job it holds. Unknown fields are ignored. */
import { Type, type Static } from "typebox";
import { ClaimedSnapshot } from "./configurations.ts";
import { about, ErrorMessage, Nullable, OneOf, Sha256, Timestamp, Uuid } from "./fields.ts";
import { ExecutionMetadata, JobStatus, JobType, LogResource, LogStep, StreamType } from "./jobs.ts";
import { claimedFields } from "./identity-fields.ts";
import { JobFailure } from "./job-failure.ts";
import { UnknownValues } from "./made-known.ts";
import { PlanOptions } from "./plan-options.ts";
import { formerSecretsLimit, waitSecondsLimit, withheldLimit } from "./limits.ts";
import { PlanSummary } from "./plan-summary.ts";
import { SourceMerge } from "./source-merge.ts";

/** Limit of the chunks in one log post. */
export const logChunksLimit = 200;
/** Limit of its body in bytes; larger than that of the text, as JSON may escape 1 byte as 6. */
export const logBodyLimit = 8 * 1024 * 1024;
/** Limit of the text of all chunks of one post together, in bytes of UTF-8. */
export const logTextLimit = 1024 * 1024;

/**
 * What the job acts as. A PLAN gets the principal of plans as the ordinary one too. With another
 * provider than `aws`, the runner asks for tokens of `audience`.
 */
export const CloudIdentityCredentials = Type.Object({
  provider: Type.String(),
  ...claimedFields,
  external_id: Type.Optional(Type.String()),
});
export type CloudIdentityCredentials = Static<typeof CloudIdentityCredentials>;

/** Credentials for the address of the source, while it is fetched. */
export const SourceAccess = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 255 }),
  token: Type.String({ minLength: 1, maxLength: 4096 }),
  expires_at: Nullable(Timestamp),
});
export type SourceAccess = Static<typeof SourceAccess>;

/** A claimed job. The fields after `zone_id` are optional additions to the interface. */
export const ClaimedJob = Type.Object({
  job: Type.Object({
    id: Uuid,
    job_type: JobType,
    config_snapshot: ClaimedSnapshot,
    spec_id: Nullable(Uuid),
    zone_id: Nullable(Uuid),
    plan_job_id: Type.Optional(
      about(Nullable(Uuid), "DEPLOY: the PLAN job whose artifact is applied."),
    ),
    attempt: Type.Optional(about(Type.Integer(), "Sent back as `X-Job-Attempt`.")),
    timeout_seconds: Type.Optional(Type.Integer()),
    plan_options: Type.Optional(
      about(
        PlanOptions,
        "PLAN: how to plan. DEPLOY: how the plan that it applies was made. Absent for an ordinary plan.",
      ),
    ),
    debug: Type.Optional(
      about(Type.Boolean(), "Keep terraform's debug log and upload it before reporting the end."),
    ),
    job_token: Type.Optional(
      about(
        Type.String(),
        "The password for the managed state of this configuration, with the job's id as user.",
      ),
    ),
    assigned_worker_id: Type.Optional(
      about(Nullable(Uuid), "DESTROY_WORKER: the worker to tear down."),
    ),
    targets: Type.Optional(
      about(
        Type.Array(Type.String({ maxLength: 1024 })),
        "DESTROY_WORKER: the resource addresses to destroy; an empty list means all.",
      ),
    ),
    resumes_teardown: Type.Optional(
      about(
        Type.Boolean(),
        "DESTROY_WORKER: the job repeats one that had begun to destroy, so nothing may be left of some targets. Absent if it does not.",
      ),
    ),
    deployed_backend: Type.Optional(
      about(
        Nullable(OneOf(["managed", "own"])),
        "Where the last DEPLOY of the configuration kept its state, as its runner reported.",
      ),
    ),
    unknown_values: Type.Optional(
      about(
        UnknownValues,
        "DEPLOY: the attributes and checks that its plan did not know, to be reported as `made_known`; empty if only the checks are to be reported. Absent if there is nothing to report.",
      ),
    ),
    former_secrets: Type.Optional(
      about(
        Type.Array(Type.String(), { maxItems: formerSecretsLimit }),
        "Sensitive texts of earlier deployments that may still be in the state and that `config_snapshot` no longer has. Only for masking: never give them to terraform. Absent if there are none.",
      ),
    ),
    source_access: Type.Optional(
      about(
        SourceAccess,
        "For the address of the source and for fetching it only. Mask the token in the log.",
      ),
    ),
    merge: Type.Optional(
      about(
        SourceMerge,
        "PLAN of a pull request: plan `config_snapshot.source.ref`, the head, merged into its base.",
      ),
    ),
    plan_digest_key: Type.Optional(
      about(
        Sha256,
        "PLAN: a key in hex, for the sensitive values in the `digest` of the plan summary.",
      ),
    ),
    withheld: Type.Optional(
      about(
        Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: withheldLimit }),
        "PLAN of a pull request: the variables and environment whose values it does not get.",
      ),
    ),
  }),
  cloud_identity: Type.Optional(Nullable(CloudIdentityCredentials)),
});
export type ClaimedJob = Static<typeof ClaimedJob>;

/** The attempt of the job, sent with every report, log post and artifact. */
export const attemptHeader = {
  "x-job-attempt": Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "The `attempt` of the claim. A report of another attempt is refused.",
    }),
  ),
};

export const ReportStatus = Type.Object({
  status: OneOf(["PROCESSING", "SUCCESS", "FAILED", "CANCELLED"]),
  execution_metadata: Type.Optional(Nullable(ExecutionMetadata)),
  error_message: Type.Optional(Nullable(ErrorMessage)),
  failure: Type.Optional(about(Nullable(JobFailure), "FAILED and CANCELLED.")),
  outcome_unknown: Type.Optional(
    about(
      Type.Boolean(),
      "FAILED and CANCELLED: an apply was cut short, and its result is unknown. The configuration is locked until a user removes the lock.",
    ),
  ),
  state_unsaved: Type.Optional(
    about(
      Type.Boolean(),
      "FAILED and CANCELLED: the job has changed resources, and its state could not be saved. The configuration stays locked until a user stores the state, or removes the lock.",
    ),
  ),
  plan_summary: Type.Optional(Nullable(PlanSummary)),
  backend: Type.Optional(
    about(
      OneOf(["managed", "own"]),
      "Where the job has kept the state: `managed` or `own`. Later jobs get it as `deployed_backend`.",
    ),
  ),
  last_seq: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "The number of log chunks posted with `seq`, to detect an incomplete log.",
    }),
  ),
});
export type ReportStatus = Static<typeof ReportStatus>;

const Seq = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "The position of the chunk in the log of this attempt, from 1 without gaps.",
});

const Step = about(LogStep, "SYSTEM chunks: a step of the job that starts or ends here.");

const Resource = about(
  LogResource,
  "Chunks of terraform's output: a resource whose change starts or ends with the first line.",
);

/** Limited like the post; the service counts its bytes. */
const LogText = Type.String({ maxLength: logBodyLimit });

export const SequencedChunk = Type.Object({
  log_chunk: LogText,
  stream_type: StreamType,
  seq: Seq,
  step: Type.Optional(Step),
  resource: Type.Optional(Resource),
});
export type SequencedChunk = Static<typeof SequencedChunk>;

/** Either one chunk (`log_chunk`, `stream_type`, optional `seq`) or `chunks`, but not both. */
export const AppendLogs = Type.Object({
  log_chunk: Type.Optional(LogText),
  stream_type: Type.Optional(StreamType),
  seq: Type.Optional(Seq),
  step: Type.Optional(Step),
  resource: Type.Optional(Resource),
  chunks: Type.Optional(
    Type.Array(SequencedChunk, {
      minItems: 1,
      maxItems: logChunksLimit,
      description: "Instead of the single chunk; together at most 1 MiB of text.",
    }),
  ),
});
export type AppendLogs = Static<typeof AppendLogs>;

export const AppendedLogs = Type.Object({
  job_id: Uuid,
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

export const Wait = {
  wait: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: waitSecondsLimit,
      description: "Seconds for which the request may stay open. Default: respond immediately.",
      examples: [30],
    }),
  ),
};
