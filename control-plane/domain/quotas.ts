export interface Quotas {
  readonly queuedJobs: number;
  readonly configurations: number;
  readonly variableSets: number;
  readonly workers: number;
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
  | "archive_bytes"
  | "state_bytes";
