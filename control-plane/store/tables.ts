/**
 * The tables, as types by hand (docs/decisions.md, "One query text"). Times are epoch milliseconds,
 * flags 0 or 1, JSON is text: what better-sqlite3 can bind and PostgreSQL can hold. The comments
 * here are the schema's documentation. The rows of `jobs`, `job_approvals` and `workers` are declared
 * by the domain, which decides by them.
 */
import type { ColumnType, Generated } from "kysely";
import type { AuditAction, AuditActorKind } from "../../protocol/audit.ts";
import type { ConfigurationStatus } from "../../protocol/configurations.ts";
import type { IdentityProvider } from "../../protocol/identity-kinds.ts";
import type { StreamType } from "../../protocol/jobs.ts";
import type { ApprovalColumns, ApprovalRow } from "../domain/approvals.ts";
import type { JobRow } from "../domain/job.ts";
import type { WorkerRow } from "../domain/worker.ts";
import type {
  ConnectionEventsTable,
  ConnectionsTable,
  FollowsTable,
  JobChangesTable,
  PullRequestsTable,
} from "./connection-tables.ts";
import type { NotificationTables } from "./notification-tables.ts";
import type { PeopleTables } from "./people-tables.ts";
import type { ScheduleTables, WatchedColumns } from "./schedule-tables.ts";

/** Epoch milliseconds. */
type Millis = number;
type Json = string;
/**
 * The JSON of a definition with its sealed values, as text. Of a large one only the parts that are
 * never large, with the id of its row in `definitions` as the first member. No string, because it is
 * read by services/definitions.ts.
 */
export interface StoredJson {
  readonly storedJson: true;
}
type Definition = ColumnType<StoredJson, StoredJson | Json, StoredJson | Json>;

export interface ZonesTable {
  id: string;
  owner_id: string;
  name: string;
  created_at: Millis;
  updated_at: Millis;
}

export interface SpecsTable extends ApprovalColumns, WatchedColumns {
  id: string;
  owner_id: string;
  zone_id: string;
  cloud_identity_id: string | null;
  name: string;
  project_name: string;
  labels: Json;
  /** The fields of `config_snapshot` except the names. */
  definition: Definition;
  /** The row of a large one. */
  definition_id: string | null;
  status: ConfigurationStatus;
  /** The message of the last failure, shown while the status is FAILED, which a cancel may restore. */
  error_message: string | null;
  cluster_name: string | null;
  cluster_endpoint: string | null;
  gitops_url: string | null;
  created_at: Millis;
  /** When its name, zone or settings changed last; its jobs do not count. */
  updated_at: Millis;
  /** Hides it from all owners while jobs or states refer to it (services/storage/removals.ts). */
  deleted_owner_id: string | null;
  /** As the runner reported; null if none did, or since a DESTROY. */
  deployed_backend: "managed" | "own" | null;
  /** An apply or destruction until one succeeds, a PLAN until any job succeeds. */
  failed_job_id: string | null;
  /** How many checks failed after the last deployment; null if its runner did not tell it. */
  failed_checks: number | null;
  /** How many outputs of the last deployment have no component. */
  outputs_omitted: Generated<number>;
  /** Counts the changes of what a user may change. */
  version: Generated<number>;
}

/** One row per output of a spec's last deployment. A sensitive one has no value. */
export interface ComponentsTable {
  spec_id: string;
  name: string;
  type: Json;
  value: Json | null;
  sensitive: number;
  /** The size of a value that was too large to be kept. */
  omitted_bytes: number | null;
}

export interface RegistrationTokensTable {
  token_hash: string;
  owner_id: string;
  uses_left: number;
  created_at: Millis;
  expires_at: Millis;
  /** 1: the workers that it registers are removed when they leave. */
  ephemeral: number;
}

/** The oldest queued job of each kind (migrations/queue.ts). Triggers maintain it. */
export interface QueueHeadsTable {
  /** Empty without one, as the next two. */
  spec_id: string;
  /** The worker that the job tears down. */
  target_worker: string;
  /** The one worker that may have it. */
  only_worker: string;
  /** Labels (none of a job for one worker), then features, each behind a `+`. */
  wanted: Json;
  /** That of its job. */
  queue_class: JobRow["queue_class"];
  /** The first of these; empty if there is none. */
  first_wanted: string;
  owner_id: string;
  job_id: string;
  /** Whether its configuration is neither occupied nor locked, and `target_worker` holds no job. */
  is_free: number;
}

/** The sizes of an owner's archives and states. Triggers maintain it. */
export interface OwnerUsageTable {
  owner_id: string;
  archive_bytes: number;
  state_bytes: number;
}

/** How much of a job's log was received. */
export interface LogVolumesTable {
  job_id: string;
  bytes: number;
  dropped_bytes: number;
  /** The sequence number of the last dropped chunk; 0 if none was. */
  dropped_seq: number;
}

/** Apart from `jobs`: SQLite rewrites a whole row, and a snapshot can be a megabyte. */
export interface JobSnapshotsTable {
  job_id: string;
  config_snapshot: Definition;
  definition_id: string | null;
}

/** Large definitions, each written before the row of a spec, a set or a snapshot that names it. */
export interface DefinitionsTable {
  id: string;
  /** The spec, set or job: its values are sealed for that. */
  about: string;
  bytes: number;
  content: Json;
}

/** The definitions that no row names. Triggers maintain it. */
export interface LooseDefinitionsTable {
  id: string;
  remove_at: Millis;
}

export interface LogChunksTable {
  id: Generated<number>;
  job_id: string;
  seq: number | null;
  stream_type: StreamType;
  log_chunk: string;
  /** The start or end of a step of the job, a `LogStep`. */
  step: Json | null;
  /** The start or end of the change of a resource, a `LogResource`. */
  resource: Json | null;
  created_at: Millis;
}

/** Chunks up to `last_id` are about to be deleted; later ones came after archiving. */
export interface LogArchivesTable {
  job_id: string;
  blob: string;
  size_bytes: number;
  /** Offset of the starts and ends of steps and resources in the content of the blob. */
  marks_at: number;
  /** Offset of the index. */
  index_at: number;
  last_id: number;
  /** The highest sequence number; null if the runner sent none. */
  last_seq: number | null;
  /** When the last chunk was received. */
  last_at: Millis;
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

/** The summary of a plan, as the runner reported it. */
export interface PlanSummariesTable {
  job_id: string;
  /** Without the attributes of its changes. */
  plan_summary: Json;
}

/** The attributes that a plan changes, of each change of its summary, in the same order. */
export interface PlanAttributesTable {
  job_id: string;
  attributes: Json;
}

export interface ArchivesTable {
  owner_id: string;
  sha256: string;
  blob: string;
  size_bytes: number;
  created_at: Millis;
  /** When a configuration or an unended job was last seen to name it, or its upload. */
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
  /** The column of 0.1.0: `resource_count`, or 0 if that is null. Nothing reads it. */
  resources: ColumnType<unknown, number, number>;
  /**
   * How many resources it records, instances counted, so that an empty state is known without
   * opening it; null if this is not known. Older rows, except the newest of a spec, count the
   * instances of a resource as one.
   */
  resource_count: number | null;
  blob: string;
  job_id: string | null;
  created_at: Millis;
  /** The name of the user who pushed it or rolled back to it, as in the audit log. */
  stored_by: string | null;
  /** The serial of the version to which the user rolled back. */
  copy_of: number | null;
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

/** What jobs act as in a cloud or at Vault. `external_id` is made once and never changed. */
export interface CloudIdentitiesTable {
  id: string;
  owner_id: string;
  name: string;
  provider: IdentityProvider;
  /** The role, service account, client or Vault role of jobs; empty if `gcp` has none. */
  role_arn: string;
  external_id: string;
  /** The same of every PLAN; null: `role_arn`. */
  plan_role_arn: string | null;
  /** The other fields of the provider, JSON; null with `aws`. */
  settings: string | null;
  created_at: Millis;
  updated_at: Millis;
}

/** Values that several specs share. */
export interface VariableSetsTable {
  id: string;
  owner_id: string;
  name: string;
  /** Variables and environment, as in `specs.definition`. */
  definition: Definition;
  definition_id: string | null;
  created_at: Millis;
  updated_at: Millis;
  /** Counts its changes. */
  version: Generated<number>;
}

/** A zone or a spec that a set is attached to; the other is null. */
export interface VariableSetAttachmentsTable {
  set_id: string;
  zone_id: string | null;
  spec_id: string | null;
}

/** Published runner versions. The highest is also the fact `latest_version`. */
export interface ReleasesTable {
  version: string;
  release_notes: string;
  created_at: Millis;
}

/** Only added to; no foreign keys, because an entry outlives what it names. */
export interface AuditEntriesTable {
  id: string;
  /** Who may read it; null where it concerns no single user. */
  owner_id: string | null;
  action: AuditAction;
  actor_kind: AuditActorKind;
  actor_id: string | null;
  actor_name: string | null;
  target_id: string | null;
  /** Its name at that time. */
  target_name: string | null;
  /** JSON, without secrets and values. */
  details: string;
  ip_address: string | null;
  user_agent: string | null;
  request_id: string | null;
  created_at: Millis;
}

export interface Tables extends NotificationTables, PeopleTables, ScheduleTables {
  zones: ZonesTable;
  specs: SpecsTable;
  components: ComponentsTable;
  workers: WorkerRow;
  registration_tokens: RegistrationTokensTable;
  jobs: JobRow;
  queue_heads: QueueHeadsTable;
  owner_usage: OwnerUsageTable;
  log_volumes: LogVolumesTable;
  job_snapshots: JobSnapshotsTable;
  definitions: DefinitionsTable;
  loose_definitions: LooseDefinitionsTable;
  job_approvals: ApprovalRow;
  log_chunks: LogChunksTable;
  log_archives: LogArchivesTable;
  plan_artifacts: PlanArtifactsTable;
  debug_logs: DebugLogsTable;
  plan_summaries: PlanSummariesTable;
  plan_attributes: PlanAttributesTable;
  archives: ArchivesTable;
  state_versions: StateVersionsTable;
  state_locks: StateLocksTable;
  log_removals: LogRemovalsTable;
  unnamed_blobs: UnnamedBlobsTable;
  facts: FactsTable;
  audit_entries: AuditEntriesTable;
  connections: ConnectionsTable;
  connection_events: ConnectionEventsTable;
  follows: FollowsTable;
  job_changes: JobChangesTable;
  pull_requests: PullRequestsTable;
  cloud_identities: CloudIdentitiesTable;
  variable_sets: VariableSetsTable;
  variable_set_attachments: VariableSetAttachmentsTable;
  releases: ReleasesTable;
}

/** A row as a select returns it. */
export type Row<T extends keyof Tables> = {
  [K in keyof Tables[T]]: Tables[T][K] extends ColumnType<infer S, infer _I, infer _U>
    ? S
    : Tables[T][K];
};
