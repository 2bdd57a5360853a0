export interface Quotas {
  readonly queuedJobs: number;
  readonly configurations: number;
  readonly variableSets: number;
  readonly workers: number;
  readonly zones: number;
  readonly identities: number;
  /** Those that a user has created and is a member of. */
  readonly teams: number;
  readonly archiveBytes: number;
  readonly stateBytes: number;
  /** The log of one job. */
  readonly logBytes: number;
}

export type Quota =
  | "queued_jobs"
  | "configurations"
  | "variable_sets"
  | "workers"
  | "zones"
  | "identities"
  | "teams"
  | "archive_bytes"
  | "state_bytes";
