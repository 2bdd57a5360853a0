import type { Job } from "../../../protocol/jobs.ts";
import type { JobRow } from "../../domain/job.ts";
import { waitingOf, type Candidate, type WaitingJob } from "../../domain/waiting-reason.ts";
import { withLists } from "../../domain/worker.ts";
import type { Queries } from "../../store/db.ts";
import { findObstacles } from "../../store/jobs/jobs.ts";
import {
  findCandidates as findCandidateRows,
  findReadyWorker,
} from "../../store/workers/workers.ts";
import { findApprovalReason } from "../approvals/views.ts";
import { isUnsaved } from "../states/unsaved.ts";

/** With `workers`, a list need not read them for each of its jobs. */
export async function viewWaiting(
  queries: Queries,
  job: WaitingJob & Pick<JobRow, "id" | "unapproved">,
  workers?: readonly Candidate[],
): Promise<Pick<Job, "waiting_reason" | "waiting_details">> {
  if (job.status !== "QUEUED") return { waiting_reason: null, waiting_details: null };
  const approval = await findApprovalReason(queries, job);
  if (approval !== null) return { waiting_reason: approval, waiting_details: null };
  const { spec_id: spec, assigned_worker_id: target } = job;
  const found = await queries.first(findObstacles, { spec, target });
  const lock =
    found && found.lock_id !== null && found.lock_job !== null
      ? { lock_id: found.lock_id, job_id: found.lock_job }
      : null;
  const waiting = waitingOf(job, {
    busyJob: found?.busy_job ?? null,
    isLocked: lock !== null,
    unsavedJob: lock && isUnsaved(lock) ? lock.job_id : null,
    isTargetHeld: found?.is_target_held === 1,
    workers: workers ?? (await findDeciding(queries, job)),
  });
  return { waiting_reason: waiting?.reason ?? null, waiting_details: waiting?.details ?? null };
}

/** The workers that decide why a job waits: one if it could take the job, or else all. */
async function findDeciding(queries: Queries, job: WaitingJob): Promise<Candidate[]> {
  const { owner_id: owner, labels, features, assigned_worker_id: target } = job;
  const ready =
    target === null ? await queries.first(findReadyWorker, { owner, labels, features }) : undefined;
  return ready ? [withLists(ready)] : findCandidates(queries, owner);
}

export async function findCandidates(queries: Queries, owner: string): Promise<Candidate[]> {
  const rows = await queries.all(findCandidateRows, { owner });
  return rows.map(withLists);
}
