/** A worker's status and the jobs that it may run. Pure. */
import lt from "semver/functions/lt.js";
import valid from "semver/functions/valid.js";
import type { WorkerMode, WorkerStatus } from "../../protocol/workers.ts";
import { equalSecrets } from "../../common/equal-secrets.ts";

/** Times are epoch milliseconds; labels, features, active jobs and metadata are JSON. */
export interface WorkerRow {
  id: string;
  /** Null for a cloud-hosted worker, which has no owner and serves all users. */
  owner_id: string | null;
  name: string;
  mode: WorkerMode;
  token_hash: string;
  /** The token that the last rotation replaced; accepted until it expires. */
  old_token_hash: string | null;
  old_token_expires_at: number | null;
  labels: string;
  /** What its last heartbeat said that it can do. */
  features: string;
  version: string | null;
  instance_id: string | null;
  hostname: string | null;
  os: string | null;
  arch: string | null;
  capacity: number | null;
  isolation: string | null;
  /** What the last heartbeat listed; null when it listed nothing. */
  active_job_ids: string | null;
  created_at: number;
  last_heartbeat_at: number | null;
  /** The last authenticated call while OFFLINE: it delays the loss of the worker's jobs. */
  last_call_at: number | null;
  /** Set by the worker watch, cleared by a heartbeat. */
  offline_at: number | null;
  draining_at: number | null;
  /** 1: it is removed when it leaves. */
  ephemeral: number;
  metadata: string;
}

/** The values of every worker before its first heartbeat. */
export const newlyRegistered = {
  features: "[]",
  old_token_hash: null,
  old_token_expires_at: null,
  version: null,
  instance_id: null,
  hostname: null,
  os: null,
  arch: null,
  capacity: null,
  isolation: null,
  active_job_ids: null,
  last_heartbeat_at: null,
  last_call_at: null,
  offline_at: null,
  draining_at: null,
  ephemeral: 0,
} as const satisfies Partial<WorkerRow>;

type Tokens = Pick<WorkerRow, "token_hash" | "old_token_hash" | "old_token_expires_at">;

/** Compares with both the token and its predecessor, in constant time, also for no worker. */
export function acceptsToken(worker: Tokens | undefined, hash: string, now: number): boolean {
  const isCurrent = equalSecrets(hash, worker?.token_hash ?? noHash);
  const isOld = equalSecrets(hash, worker?.old_token_hash ?? noHash);
  return isCurrent || (isOld && now < (worker?.old_token_expires_at ?? 0));
}

/** When a token that is accepted now stops working; null for the worker's own. */
export const tokenExpiry = (worker: Tokens, hash: string): number | null =>
  worker.token_hash === hash ? null : worker.old_token_expires_at;

/** No token has it, and it is as long as a hash. */
const noHash = "-".repeat(64);

/** Never stored. OFFLINE takes precedence over DRAINING, because it matters more to users. */
export function workerStatus(
  worker: Pick<WorkerRow, "offline_at" | "draining_at" | "last_heartbeat_at">,
): WorkerStatus {
  if (worker.offline_at !== null) return "OFFLINE";
  if (worker.draining_at !== null) return "DRAINING";
  return worker.last_heartbeat_at === null ? "REGISTERED" : "ONLINE";
}

export interface Claimant {
  readonly id: string;
  /** Null: cloud-hosted, runs jobs of all users. */
  readonly owner_id: string | null;
  readonly labels: readonly string[];
  readonly features: readonly string[];
}

export interface Claimable {
  readonly owner_id: string;
  readonly job_type: string;
  readonly assigned_worker_id: string | null;
  readonly labels: readonly string[];
  /** What its runner must be able to do. */
  readonly features: readonly string[];
}

/** A row with its lists read. */
export const withLists = <T extends { readonly labels: string; readonly features: string }>(
  row: T,
): Omit<T, "labels" | "features"> & Pick<Claimable, "labels" | "features"> => ({
  ...row,
  labels: JSON.parse(row.labels) as string[],
  features: JSON.parse(row.features) as string[],
});

/** Regardless of other jobs. The claim statement says the same in SQL. */
export const mayTake = (worker: Claimant, job: Claimable): boolean =>
  isMeantFor(worker, job) && job.features.every((feature) => worker.features.includes(feature));

/** Regardless of the features of the worker's agent. */
export function isMeantFor(worker: Claimant, job: Claimable): boolean {
  if (worker.owner_id !== null && worker.owner_id !== job.owner_id) return false;
  const isTarget = job.assigned_worker_id === worker.id;
  // A DESTROY_WORKER job names the worker to tear down; any other worker may run it.
  if (job.job_type === "DESTROY_WORKER") return !isTarget && hasLabels(worker, job);
  return isTarget || (job.assigned_worker_id === null && hasLabels(worker, job));
}

const hasLabels = (worker: Claimant, job: Claimable): boolean =>
  job.labels.every((label) => worker.labels.includes(label));

/** False for anything that is not a version. */
export const isBehind = (version: string | null, latest: string | null): boolean =>
  valid(version) !== null && valid(latest) !== null && lt(version ?? "", latest ?? "");
