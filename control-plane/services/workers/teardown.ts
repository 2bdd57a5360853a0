/** DESTROY_WORKER: destroys what a worker was deployed with. Another worker runs the job. */
import type { JobRow } from "../../domain/job.ts";
import type { WorkerRow } from "../../domain/worker.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findJob, findSnapshot } from "../../store/jobs/jobs.ts";
import { deleteWorker, findOwnWorker, updateWorker } from "../../store/workers/workers.ts";
import { record, type Actor } from "../audit/audit.ts";
import type { AfterCommit } from "../job-changes/changes.ts";
import type { TeardownScope } from "./deploy-configurations.ts";
import { loseSomeJobs } from "../job-changes/outcomes.ts";
import { shortOf } from "../definitions.ts";

/** Refuses to retry a teardown that would now destroy something else than what was confirmed. */
export async function refuseOtherTeardown(
  tx: Queries,
  retried: string,
  { hash, scope }: { readonly hash: string; readonly scope: TeardownScope },
): Promise<void> {
  const job = await tx.first(findJob, { id: retried });
  const stored = await tx.first(findSnapshot, { id: retried });
  const { targets = [] } = stored ? shortOf<{ targets: string[] }>(stored.config_snapshot) : {};
  const now = "targets" in scope ? scope.targets : [];
  if (job?.config_hash !== hash || targets.join("\n") !== now.join("\n"))
    throw new RefusalError(
      "job_not_retryable",
      "the deploy configuration of the worker has changed since then: create a new DESTROY_WORKER job",
    );
}

/** Creating the job drains the target; the job waits until the target holds no job. */
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

/** Removes the target of a DESTROY_WORKER job after its SUCCESS. */
export async function removeTornDownWorker(
  tx: Queries,
  afterCommit: AfterCommit,
  job: JobRow,
  by: Actor,
  now: number,
): Promise<void> {
  const target = job.assigned_worker_id;
  if (job.job_type !== "DESTROY_WORKER" || job.status !== "SUCCESS" || target === null) return;
  // A repeated report of the same end removes nothing more.
  const worker = await tx.first(findOwnWorker, { id: target, owner: job.owner_id });
  if (worker) await removeWorker(tx, afterCommit, worker, by, now);
}

/** Its first jobs are lost at once, the rest in the background. */
export async function removeWorker(
  tx: Queries,
  afterCommit: AfterCommit,
  { id: worker, name, owner_id: owner }: WorkerRow,
  by: Actor,
  now: number,
): Promise<void> {
  await loseSomeJobs(tx, afterCommit, worker, by, now);
  await deleteWorker(tx, worker);
  await record(tx, { by, owner, action: "worker.remove", id: worker, name }, now);
  afterCommit.push((wakeups) => {
    wakeups.notify("worker", worker);
    wakeups.notify("worker_event", { what: "removed", id: worker, name, by: by.name ?? by.kind });
  });
}
