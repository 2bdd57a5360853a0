/** DESTROY_WORKER: tearing down what a worker was deployed with, run by another worker (decisions.md). */
import type { ConfigSnapshot } from "../../protocol/configurations.ts";
import type { JobRow } from "../domain/job.ts";
import { lose } from "../domain/job.ts";
import type { WorkerRow } from "../domain/worker.ts";
import { invalid, notFound, Refusal } from "../problem.ts";
import type { Queries } from "../store/db.ts";
import { findHeldJobs } from "../store/jobs.ts";
import { findSpec, type SpecRow } from "../store/specs.ts";
import { deleteWorker, findOwnWorker, updateWorker } from "../store/workers.ts";
import { record, type Actor } from "./audit.ts";
import { changeJob, type Rings } from "./job-changes.ts";
import { recordOutcome } from "./job-outcomes.ts";

/** What a worker's `metadata.deploy_configuration` says. */
interface DeployConfiguration {
  configuration_id?: string;
  snapshot?: ConfigSnapshot;
  targets?: string[];
}

export interface Teardown {
  /** The configuration whose state holds the worker; null: `snapshot` is a configuration of its own with its own backend. */
  readonly spec: SpecRow | null;
  readonly snapshot: ConfigSnapshot | null;
  readonly targets: readonly string[];
}

/** What tearing the worker down means. Refuses a worker that is not the owner's or that does not say how it was deployed. */
export async function findTeardown(
  tx: Queries,
  owner: string,
  workerId: string | null | undefined,
): Promise<Teardown> {
  if (!workerId) throw invalid("body.assigned_worker_id", "must name the worker to tear down");
  const worker = await tx.first(findOwnWorker, { id: workerId, owner });
  if (!worker) throw notFound("worker");
  const metadata = JSON.parse(worker.metadata) as { deploy_configuration?: DeployConfiguration };
  const { configuration_id, snapshot, targets = [] } = metadata.deploy_configuration ?? {};
  if (configuration_id !== undefined) {
    const spec = await tx.first(findSpec, { id: configuration_id, owner });
    if (!spec) throw notFound("configuration of the worker");
    return { spec, snapshot: null, targets };
  }
  if (snapshot?.source !== undefined)
    return { spec: null, snapshot: { ...snapshot, backend: "own" }, targets };
  throw new Refusal(
    "no_deploy_configuration",
    "the worker's metadata.deploy_configuration does not say what to destroy",
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

/** Removes a worker; its jobs count as lost at once and its parked requests end. */
export async function removeWorker(
  tx: Queries,
  rings: Rings,
  { id: worker, name, owner_id: owner }: WorkerRow,
  by: Actor,
  now: number,
): Promise<void> {
  for (const before of await tx.all(findHeldJobs, { worker })) {
    const keepLock = before.started_at !== null;
    const after = await changeJob(tx, rings, before, lose(before, now), now, { keepLock });
    await recordOutcome(tx, { by, action: "job.lose", before, after }, now);
  }
  await deleteWorker(tx, worker);
  await record(tx, { by, owner, action: "worker.remove", id: worker, name }, now);
  rings.push((wakeups) => wakeups.ring("worker", worker));
}
