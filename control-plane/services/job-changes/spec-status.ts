/** The status of a spec as its jobs start and end, in the transaction of the job's change. */
import type { ConfigurationStatus } from "../../../protocol/configurations.ts";
import type { ExecutionMetadata } from "../../../protocol/jobs.ts";
import { resourcesText } from "../../../protocol/words.ts";
import { hasEnded, isDestruction, type JobRow } from "../../domain/job.ts";
import { statusAtEnd, statusAtStart } from "../../domain/spec.ts";
import {
  findSpecStatus,
  moveSpec,
  setSpecStatus,
} from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import {
  findFailedJob,
  findLaterStarted,
  findObstacles,
  findStartedBefore,
} from "../../store/jobs/jobs.ts";
import {
  findState,
  listStateVersions,
  setResourceCount,
  type StateVersionRow,
} from "../../store/states/states.ts";
import { deployedStatus } from "./deployed.ts";
import { endDriftByApply } from "./drift.ts";
import { clearDeployment, finalizeDeployment } from "./finalize-deployment.ts";
import { takeOverFiles, type Takeover } from "./own-source.ts";

/** Changes the spec of a job that starts. Returns the job with the status before. */
export async function startSpec(
  tx: Queries,
  job: JobRow,
  now: number,
  takeover?: Takeover,
): Promise<JobRow> {
  const status = statusAtStart(job);
  if (status === null || job.spec_id === null) return job;
  const spec = await tx.first(findSpecStatus, { id: job.spec_id });
  await tx.run(moveSpec, { id: job.spec_id, status });
  await takeOverFiles(tx, job, now, takeover);
  return { ...job, spec_status_before: spec?.status ?? null };
}

/** Changes the spec of a job that has ended, unless a later job of the spec has started. */
export async function endSpec(tx: Queries, job: JobRow, hasApplied: boolean): Promise<void> {
  const { spec_id: id, job_type: type, status } = job;
  if (id === null || type === "DESTROY_WORKER" || !hasEnded(job)) return;
  const spec = await tx.first(findSpecStatus, { id });
  if (!spec) return;
  const isCancelled = status === "CANCELLED";
  const written = isCancelled ? await findWritten(tx, id, job) : undefined;
  const mayHaveChanged = job.outcome_unknown === 1 && statusAtStart(job) !== null;
  const hasChanged = hasApplied || written !== undefined || mayHaveChanged;
  const isRestored = type === "PLAN" && status === "SUCCESS" && spec.status === "FAILED";
  const deployed = isRestored ? await deployedStatus(tx, { id, ...spec }) : null;
  const before = job.spec_status_before;
  const next = statusAtEnd(job, { before, hasChanged, deployed });
  const later = { spec: id, id: job.id, claimed_at: job.claimed_at ?? job.created_at };
  if (next === null || (await tx.first(findLaterStarted, later))) return;
  // The job ended in the queue, and the spec has the status of a job that is running.
  if (job.claimed_at === null && (await isBusy(tx, id))) return;
  if (isCancelled && !hasChanged) {
    if (spec.failed_job_id !== job.id || next === "FAILED")
      return tx.run(moveSpec, { id, status: next });
    // Its runner was lost, and has now reported that nothing was changed.
    const older = await tx.first(findStartedBefore, later);
    const failed_job_id = older?.status === "FAILED" ? older.id : null;
    return tx.run(setSpecStatus, { id, status: next, error_message: null, failed_job_id });
  }
  const failure = isCancelled ? cancelledMessage(job, written) : job.error_message;
  const error_message = next === "FAILED" ? failure : null;
  const failed_job_id = await failedJobAfter(tx, job, next, spec.failed_job_id);
  await tx.run(setSpecStatus, { id, status: next, error_message, failed_job_id });
  if (status !== "SUCCESS") return;
  await endDriftByApply(tx, job, job.ended_at ?? job.created_at);
  if (isDestruction(job)) {
    await clearDeployment(tx, id);
    // Nothing is left after a destruction, even if the server cannot read the state.
    const state = await tx.first(findState, { spec: id });
    if (state?.job_id === job.id && state.resource_count === null)
      await tx.run(setResourceCount, { id: state.id, count: 0 });
  } else if (type === "DEPLOY")
    await finalizeDeployment(
      tx,
      id,
      JSON.parse(job.execution_metadata ?? "{}") as ExecutionMetadata,
      job.failed_checks,
    );
}

async function isBusy(tx: Queries, spec: string): Promise<boolean> {
  const found = await tx.first(findObstacles, { spec, target: null });
  return (found?.busy_job ?? null) !== null;
}

/** A PLAN neither resolves nor hides what an apply or a destruction left half done. */
async function failedJobAfter(
  tx: Queries,
  job: JobRow,
  status: ConfigurationStatus,
  before: string | null,
): Promise<string | null> {
  const after = status === "FAILED" ? job.id : null;
  if (job.job_type !== "PLAN" || before === null) return after;
  const failed = await tx.first(findFailedJob, { id: before });
  return failed && failed.job_type !== "PLAN" ? before : after;
}

/** An empty first state of a new backend does not count: it records no change. */
async function findWritten(
  tx: Queries,
  spec: string,
  job: JobRow,
): Promise<StateVersionRow | undefined> {
  if (statusAtStart(job) === null) return undefined;
  const [newest, older] = await listStateVersions(tx, spec, undefined, 2);
  const isWritten =
    newest?.job_id === job.id && (newest.resource_count !== 0 || older !== undefined);
  return isWritten ? newest : undefined;
}

function cancelledMessage(job: JobRow, state: StateVersionRow | undefined): string {
  const { error_message, outcome_unknown } = job;
  const how = outcome_unknown === 1 ? "cancelled, outcome unknown" : "cancelled during apply";
  const cancelled = error_message ?? how;
  if (!state) return cancelled;
  return `${cancelled}; the state records ${resourcesText(state.resource_count)}`;
}
