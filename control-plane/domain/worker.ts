/** A worker's status and what it may take. Pure. */
import type { WorkerStatus } from "../../protocol/workers.ts";
import type { Row } from "../store/tables.ts";
import { equalSecrets } from "./tokens.ts";

export type WorkerRow = Row<"workers">;

/** What is true of every worker before its first heartbeat. */
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
} as const satisfies Partial<WorkerRow>;

type Tokens = Pick<WorkerRow, "token_hash" | "old_token_hash" | "old_token_expires_at">;

/** Whether the worker's token, or the one that it replaced, has this hash. Takes the same time for every hash and for no worker. */
export function acceptsToken(worker: Tokens | undefined, hash: string, now: number): boolean {
  const isCurrent = equalSecrets(hash, worker?.token_hash ?? noHash);
  const isOld = equalSecrets(hash, worker?.old_token_hash ?? noHash);
  return isCurrent || (isOld && now < (worker?.old_token_expires_at ?? 0));
}

/** No token has it, and it is as long as a hash. */
const noHash = "-".repeat(64);

/** Derived, never stored: OFFLINE wins over DRAINING, because it is what people must know first. */
export function workerStatus(
  worker: Pick<WorkerRow, "offline_at" | "draining_at" | "last_heartbeat_at">,
): WorkerStatus {
  if (worker.offline_at !== null) return "OFFLINE";
  if (worker.draining_at !== null) return "DRAINING";
  return worker.last_heartbeat_at === null ? "REGISTERED" : "ONLINE";
}

export interface Claimant {
  readonly id: string;
  /** Null: cloud-hosted, serves everybody. */
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

/** Whether the worker may have the job, apart from what else runs. The claim statement says the same in SQL. */
export const mayTake = (worker: Claimant, job: Claimable): boolean =>
  isMeantFor(worker, job) && job.features.every((feature) => worker.features.includes(feature));

/** The same, whatever the worker's agent can do. */
export function isMeantFor(worker: Claimant, job: Claimable): boolean {
  if (worker.owner_id !== null && worker.owner_id !== job.owner_id) return false;
  const isTarget = job.assigned_worker_id === worker.id;
  // DESTROY_WORKER names the worker to tear down; any other worker does it.
  if (job.job_type === "DESTROY_WORKER") return !isTarget && hasLabels(worker, job);
  return isTarget || (job.assigned_worker_id === null && hasLabels(worker, job));
}

const hasLabels = (worker: Claimant, job: Claimable): boolean =>
  job.labels.every((label) => worker.labels.includes(label));
