/** The events of jobs, in the transaction of the job's change. */
import type { EventData, EventName } from "../../../protocol/notification-events.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { destroyedCount } from "../../../protocol/words.ts";
import { hasEnded, isDestruction, type JobRow } from "../../domain/job.ts";
import { findApprovalNeeds } from "../../store/approvals/approvals.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { system } from "../audit/audit.ts";
import { recordEvent, type EventRecord } from "../events/record.ts";

interface More extends Pick<EventRecord, "rule" | "once"> {
  readonly by?: EventRecord["by"] | undefined;
  readonly data?: EventData;
}

export const recordJobEvent = (
  tx: Queries,
  now: number,
  type: EventName,
  job: JobRow,
  { by = system, ...more }: More = {},
): Promise<void> =>
  recordEvent(tx, now, {
    type,
    owner: job.owner_id,
    zone: job.zone_id,
    configuration: job.spec_id,
    // A job without a configuration tears down a worker.
    ...(job.assigned_worker_id === null ? {} : { about: job.assigned_worker_id }),
    job,
    by,
    ...more,
  });

const endings = { SUCCESS: "succeeded", FAILED: "failed", CANCELLED: "cancelled" } as const;

/**
 * A repeated report changes nothing. A late one that changes how the job has ended is told of: what
 * was told before is no longer true.
 */
export async function recordChange(
  tx: Queries,
  before: JobRow,
  job: JobRow,
  now: number,
  by?: EventRecord["by"],
): Promise<void> {
  const isStart = before.started_at === null && job.started_at !== null && !hasEnded(before);
  if (isStart) await recordJobEvent(tx, now, "job.started", job);
  const { status } = job;
  if (status !== before.status && status !== "QUEUED" && status !== "PROCESSING")
    await recordJobEvent(tx, now, `job.${endings[status]}`, job, { by });
  if (job.outcome_unknown === 1 && before.outcome_unknown === 0)
    await recordJobEvent(tx, now, "job.outcome_unknown", job);
  if (status !== "SUCCESS" || before.status === "SUCCESS" || job.spec_id === null) return;
  if (isDestruction(job)) await recordJobEvent(tx, now, "destroyed", job);
  else if (job.job_type === "DEPLOY") await recordJobEvent(tx, now, "deployed", job);
}

/** Once for each job, although a change of the rule may let it wait again. */
export async function recordApprovalNeeded(tx: Queries, id: string, now: number): Promise<void> {
  const job = await tx.first(findJob, { id });
  const needs = await tx.first(findApprovalNeeds, { job: id });
  if (!job || !needs) return;
  const data = { missing: needs.missing };
  await recordJobEvent(tx, now, "approval.needed", job, { data, once: `approval ${id}` });
}

/** Of a PLAN. A repeated report has been told of. */
export async function recordDestructive(
  tx: Queries,
  job: JobRow,
  { counts }: Pick<PlanSummary, "counts">,
  now: number,
): Promise<void> {
  if (job.job_type !== "PLAN" || destroyedCount(counts) === 0) return;
  await recordJobEvent(tx, now, "plan.destructive", job, { once: `destructive ${job.id}` });
}
