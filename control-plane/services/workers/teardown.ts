/** DESTROY_WORKER: tearing down what a worker was deployed with, run by another worker. */
import type { JobRow } from "../../domain/job.ts";
import type { WorkerRow } from "../../domain/worker.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findJob, findSnapshot } from "../../store/jobs/jobs.ts";
import { deleteWorker, findOwnWorker, updateWorker } from "../../store/workers/workers.ts";
import { record, type Actor } from "../audit/audit.ts";
import type { Rings } from "../jobs/changes.ts";
import type { TeardownScope } from "./deploy-configurations.ts";
import { loseSomeJobs } from "../jobs/outcomes.ts";

/** Refuses to tear down once more what would now destroy something else: that is not what was confirmed. */
export async function refuseOtherTeardown(
  tx: Queries,
  retried: string,
  { hash, scope }: { readonly hash: string; readonly scope: TeardownScope },
): Promise<void> {
  const job = await tx.first(findJob, { id: retried });
  const stored = await tx.first(findSnapshot, { id: retried });
  const { targets = [] } = JSON.parse(stored?.config_snapshot ?? "{}") as { targets?: string[] };
  const now = "targets" in scope ? scope.targets : [];
  if (job?.config_hash !== hash || targets.join("\n") !== now.join("\n"))
    throw new RefusalError(
      "job_not_retryable",
      "what tearing the worker down destroys has changed since: make a new DESTROY_WORKER job",
    );
}

/** Creating the job drains the target: it waits until the target holds no job. */
export async function drainTarget(
  tx: Queries,
  worker: string,
  { by, owner, job }: { by: Actor; owner: string; job: string },
  now: number,
): Promise<void> {
  const { name = null } = (await tx.first(findOwnWorker, { id: worker, owner })) ?? {};
  await updateWorker(tx, worker, { draining_at: now });
  const details = { job_id: job };
  await record(tx, { by, owner, action: "worker.drain", id: worker, name, details }, now);
}

/** On the SUCCESS of a DESTROY_WORKER its target is removed. */
export async function removeTornDownWorker(
  tx: Queries,
  rings: Rings,
  job: JobRow,
  by: Actor,
  now: number,
): Promise<void> {
  const target = job.assigned_worker_id;
  if (job.job_type !== "DESTROY_WORKER" || job.status !== "SUCCESS" || target === null) return;
  // Reported once more, the same end removes nothing more.
  const worker = await tx.first(findOwnWorker, { id: target, owner: job.owner_id });
  if (worker) await removeWorker(tx, rings, worker, by, now);
}

/** Removes a worker: its parked requests end, and its jobs are lost, the first of them at once and the rest behind it. */
export async function removeWorker(
  tx: Queries,
  rings: Rings,
  { id: worker, name, owner_id: owner }: WorkerRow,
  by: Actor,
  now: number,
): Promise<void> {
  await loseSomeJobs(tx, rings, worker, by, now);
  await deleteWorker(tx, worker);
  await record(tx, { by, owner, action: "worker.remove", id: worker, name }, now);
  rings.push((wakeups) => wakeups.ring("worker", worker));
}
