/**
 * The tables, as types by hand (docs/decisions.md, "One query text"). Times are epoch milliseconds, flags 0 or 1,
 * JSON is text: what better-sqlite3 can bind and PostgreSQL can hold. The comments here are the schema's documentation.
 */
import type { ColumnType, Generated } from "kysely";
import type { JobStatus, JobType, StreamType } from "../../protocol/jobs.ts";
import type { ConfigurationStatus } from "../../protocol/configurations.ts";
import type { WorkerMode } from "../../protocol/workers.ts";
import type { PeopleTables } from "./tables-people.ts";

/** Epoch milliseconds. */
type Millis = number;
/** JSON as text. */
type Json = string;

/** A person. The e-mail is what is shown and does not identify a person: that is `link_email` or a row of `accounts`. */
export interface UsersTable {
  id: string;
  email: string;
  /** Whom the operator's one-time link for this e-mail signs in; null for people who came through a provider. */
  link_email: ColumnType<string | null, string | null | undefined, string | null>;
  created_at: Millis;
}

export interface ZonesTable {
  id: string;
  owner_id: string;
  name: string;
  created_at: Millis;
  updated_at: Millis;
}

export interface SpecsTable {
  id: string;
  owner_id: string;
  zone_id: string;
  cloud_identity_id: string | null;
  name: string;
  project_name: string;
  labels: Json;
  /** The fields of `config_snapshot` except the names; sensitive values sealed. */
  definition: Json;
  status: ConfigurationStatus;
  error_message: string | null;
  cluster_name: string | null;
  cluster_endpoint: string | null;
  gitops_url: string | null;
  created_at: Millis;
  updated_at: Millis;
  /**
   * Whose it was, once it is deleted: the row then belongs to the user and the zone without an id, so no owner finds it, until its jobs
   * and states have let go of it (services/storage/removals.ts).
   */
  deleted_owner_id: string | null;
  /** Where the last DEPLOY kept the state, as its runner reported; null if none did, or since a DESTROY. */
  deployed_backend: "managed" | "own" | null;
}

/** One row per output of a spec's last deployment. A sensitive one has no value. */
export interface ComponentsTable {
  spec_id: string;
  name: string;
  type: Json;
  value: Json | null;
  sensitive: number;
}

export interface WorkersTable {
  id: string;
  /** Null for a cloud-hosted worker, which has no owner and serves all users. */
  owner_id: string | null;
  name: string;
  mode: WorkerMode;
  token_hash: string;
  /** The token that the last rotation replaced; accepted until it expires. */
  old_token_hash: string | null;
  old_token_expires_at: Millis | null;
  labels: Json;
  /** What its last heartbeat said that it can do. */
  features: Json;
  version: string | null;
  instance_id: string | null;
  hostname: string | null;
  os: string | null;
  arch: string | null;
  capacity: number | null;
  isolation: string | null;
  /** What the last heartbeat listed; null when it listed nothing. */
  active_job_ids: Json | null;
  created_at: Millis;
  last_heartbeat_at: Millis | null;
  /** The last authenticated call while OFFLINE: it delays the loss of the worker's jobs. */
  last_call_at: Millis | null;
  /** Set by the worker watch, cleared by a heartbeat. */
  offline_at: Millis | null;
  draining_at: Millis | null;
  metadata: Json;
}

export interface RegistrationTokensTable {
  token_hash: string;
  owner_id: string;
  uses_left: number;
  created_at: Millis;
  expires_at: Millis;
}

export interface JobsTable {
  id: string;
  owner_id: string;
  job_type: JobType;
  status: JobStatus;
  spec_id: string | null;
  zone_id: string | null;
  cloud_identity_id: string | null;
  /** As asked for at creation. */
  assigned_worker_id: string | null;
  /** The holder; null while queued, kept after the end. */
  worker_id: string | null;
  plan_job_id: string | null;
  labels: Json;
  /** The features of a runner that it needs, `debug` among them if its debug log is kept; fixed, as its snapshot is. */
  features: Json;
  config_hash: string | null;
  timeout_seconds: number;
  /** Grows with every claim. */
  attempt: number;
  /** The `Idempotency-Key` of the claim that got it. */
  claim_key: string | null;
  created_at: Millis;
  claimed_at: Millis | null;
  started_at: Millis | null;
  cancelled_at: Millis | null;
  ended_at: Millis | null;
  released_at: Millis | null;
  /** When a heartbeat first listed its active jobs without this one. */
  omitted_at: Millis | null;
  /** When its runner was found lost; null again once that runner has reported how the job ended. */
  presumed_lost_at: Millis | null;
  /** Whether what an ended job did is not known: its runner was lost or could not say, or the server was restored meanwhile. */
  outcome_unknown: 0 | 1;
  /** What the spec's status was before this job changed it: a cancel goes back to it. */
  spec_status_before: ConfigurationStatus | null;
  error_message: string | null;
  execution_metadata: Json | null;
  /** From the end report; `log_complete` is derived from it. */
  last_seq: number | null;
  /** When retention removed the log. */
  log_pruned_at: Millis | null;
}

/** The oldest queued job of each kind. Triggers keep it: migrations/0009-scale.ts and 0014-features.ts. */
export interface QueueHeadsTable {
  /** Empty without one, as the next two. */
  spec_id: string;
  /** The worker that the job tears down. */
  target_worker: string;
  /** The one worker that may have it. */
  only_worker: string;
  /** What a worker must have: labels (of a job for one worker none), then features, each behind a `+`. */
  wanted: Json;
  /** The first of these; empty if there is none. */
  first_wanted: string;
  owner_id: string;
  job_id: string;
  /** Whether its configuration is neither occupied nor locked, and `target_worker` holds no job. */
  is_free: number;
}

/** What an owner's archives and states take up. Triggers keep it. */
export interface OwnerUsageTable {
  owner_id: string;
  archive_bytes: number;
  state_bytes: number;
}

/** What was received of a job's log. */
export interface LogVolumesTable {
  job_id: string;
  bytes: number;
  dropped_bytes: number;
  /** The sequence number of the last dropped chunk; 0 if none was. */
  dropped_seq: number;
}

/** Apart from `jobs`, because SQLite rewrites a whole row on update and a snapshot can be a megabyte. */
export interface JobSnapshotsTable {
  job_id: string;
  config_snapshot: Json;
}

export interface LogChunksTable {
  id: Generated<number>;
  job_id: string;
  seq: number | null;
  stream_type: StreamType;
  log_chunk: string;
  /** The start or end of a step of the job, a `LogStep`. */
  step: Json | null;
  created_at: Millis;
}

export interface PlanArtifactsTable {
  job_id: string;
  attempt: number;
  blob: string;
  size_bytes: number;
  sha256: string;
  created_at: Millis;
}

/** What terraform wrote under TF_LOG=DEBUG, packed; the content is a sealed blob. */
export interface DebugLogsTable {
  job_id: string;
  attempt: number;
  blob: string;
  size_bytes: number;
  sha256: string;
  created_at: Millis;
}

/** What the plan that a job made would do, as its runner summed it up. */
export interface PlanSummariesTable {
  job_id: string;
  plan_summary: Json;
}

export interface ArchivesTable {
  owner_id: string;
  sha256: string;
  blob: string;
  size_bytes: number;
  created_at: Millis;
  /** When a configuration or an unended job was last seen to name it; at first, when it was uploaded. */
  named_at: Millis;
}

/** Every version of a managed state; the content is a sealed blob. */
export interface StateVersionsTable {
  id: Generated<number>;
  spec_id: string;
  serial: number;
  lineage: string;
  md5: string;
  size_bytes: number;
  /** How many resources it records, so that an empty state is known without opening it. */
  resources: number;
  blob: string;
  job_id: string | null;
  created_at: Millis;
}

export interface StateLocksTable {
  spec_id: string;
  lock_id: string;
  /** The job that locked it. */
  job_id: string;
  /** The lock document as terraform sent it. */
  info: string;
  created_at: Millis;
}

/** Logs whose chunks are being removed. */
export interface LogRemovalsTable {
  job_id: string;
}

/** Blobs that no row names, to be deleted when this time has come. */
export interface UnnamedBlobsTable {
  blob: string;
  delete_at: Millis;
}

/** Facts of this store, such as the address it was last served at. */
export interface FactsTable {
  name: string;
  value: string;
}

export interface Tables extends PeopleTables {
  users: UsersTable;
  zones: ZonesTable;
  specs: SpecsTable;
  components: ComponentsTable;
  workers: WorkersTable;
  registration_tokens: RegistrationTokensTable;
  jobs: JobsTable;
  queue_heads: QueueHeadsTable;
  owner_usage: OwnerUsageTable;
  log_volumes: LogVolumesTable;
  job_snapshots: JobSnapshotsTable;
  log_chunks: LogChunksTable;
  plan_artifacts: PlanArtifactsTable;
  debug_logs: DebugLogsTable;
  plan_summaries: PlanSummariesTable;
  archives: ArchivesTable;
  state_versions: StateVersionsTable;
  state_locks: StateLocksTable;
  log_removals: LogRemovalsTable;
  unnamed_blobs: UnnamedBlobsTable;
  facts: FactsTable;
}

/** A row as a select gives it. */
export type Row<T extends keyof Tables> = {
  [K in keyof Tables[T]]: Tables[T][K] extends ColumnType<infer S, infer _I, infer _U>
    ? S
    : Tables[T][K];
};
