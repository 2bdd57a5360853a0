import type { ReportStatus } from "../../../protocol/executions.ts";
import type { JobFailure } from "../../../protocol/job-failure.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { checksAfter } from "../../../protocol/known-plan.ts";
import { failedChecksOf } from "../../../protocol/plan-text.ts";
import { isDestruction, reportEnd, reportProcessing, type JobRow } from "../../domain/job.ts";
import { setDeployedBackend } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findLaterStarted } from "../../store/jobs/jobs.ts";
import { runner } from "../audit/audit.ts";
import type { WorkerCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findBriefSummary } from "../plans/read-summary.ts";
import { checkSameSummary, storePlanSummary } from "../plans/summaries.ts";
import { lockUnknown, lockUnsaved } from "../states/unsaved.ts";
import { removeTornDownWorker } from "../workers/teardown.ts";
import { summaryOfApplied } from "../logs/applied-summary.ts";
import { changeJob, writeJobs } from "../job-changes/changes.ts";
import { recordDestructive } from "../job-changes/job-events.ts";
import { findFenced } from "../job-changes/holder.ts";
import { recordOutcome } from "../job-changes/outcomes.ts";
import { withTakeover, type Takeover } from "../job-changes/own-source.ts";
import { viewJob } from "./views.ts";

export async function reportStatus(
  context: Context,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
  report: ReportStatus,
): Promise<Job> {
  const { status } = report;
  if (status === "PROCESSING") {
    const start = (takeover?: Takeover) =>
      writeJobs(context, async (tx, afterCommit) => {
        const now = context.now();
        const job = await findFenced(tx, worker, id, attempt);
        return changeJob(tx, afterCommit, job, reportProcessing(job, now), now, { takeover });
      });
    return viewJob(context, await withTakeover(context, worker, id, start), { progress: false });
  }
  const saved = await writeJobs(context, async (tx, afterCommit) => {
    const now = context.now();
    const job = await findFenced(tx, worker, id, attempt);
    // From its SUCCESS on, people may have approved a plan by its summary.
    const isRepeated = job.status === "SUCCESS" && Boolean(report.plan_summary);
    if (isRepeated) await checkSameSummary(tx, id, report.plan_summary!);
    // A user must check what the job did before another job uses a state that may be incomplete.
    const isUnknown = report.status !== "SUCCESS" && report.outcome_unknown === true;
    const isUnsaved = report.status !== "SUCCESS" && report.state_unsaved === true;
    const keepLock = isUnknown || isUnsaved;
    const end = {
      status,
      outcome_unknown: isUnknown ? 1 : 0,
      ...reasonOf(job, report),
      execution_metadata: report.execution_metadata
        ? JSON.stringify(report.execution_metadata)
        : job.execution_metadata,
      failed_checks: await countFailedChecks(tx, job, report),
      last_seq: report.last_seq ?? job.last_seq,
    } as const;
    const after = reportEnd(job, end, now);
    // Before the next job of the configuration is woken. A repeated report does not lock again.
    if (keepLock && after !== job && !(await isOvertaken(tx, job))) {
      if (isUnsaved) await lockUnsaved(tx, job, now);
      else if (job.job_type !== "PLAN") await lockUnknown(tx, job, now);
    }
    // A runner names the backend once the apply has begun. For a managed state its versions show
    // whether something has changed.
    const options = { keepLock, hasApplied: report.backend === "own" };
    // Before the end, which reads it.
    if (report.plan_summary && !isRepeated) await storePlanSummary(tx, id, report.plan_summary);
    const ended = await changeJob(tx, afterCommit, job, after, now, options);
    await recordOutcome(
      tx,
      { by: runner(worker), action: "job.end", before: job, after: ended },
      now,
    );
    if (!isRepeated) {
      const summary = report.plan_summary ?? (await summaryOfApplied(tx, ended));
      if (summary && !report.plan_summary) await storePlanSummary(tx, id, summary);
      if (summary) await recordDestructive(tx, ended, summary, now);
    }
    await keepBackend(tx, ended, report);
    await removeTornDownWorker(tx, afterCommit, ended, runner(worker), now);
    return ended;
  });
  return viewJob(context, saved, { progress: false });
}

/** Of a plan, or after the apply of one; null if the runner told neither. */
async function countFailedChecks(
  tx: Queries,
  { plan_job_id: plan }: JobRow,
  { status, plan_summary, execution_metadata: metadata }: ReportStatus,
): Promise<number | null> {
  if (status !== "SUCCESS") return null;
  const planned = plan === null ? plan_summary : await findBriefSummary(tx, plan);
  if (planned)
    return failedChecksOf({ checks: checksAfter(planned, metadata?.made_known?.checks ?? []) });
  return metadata?.made_known ? failedChecksOf(metadata.made_known) : null;
}

/** Without a message the earlier one stays, unless it only said that the outcome was unknown. */
function reasonOf(
  job: JobRow,
  { status, error_message, failure }: ReportStatus,
): Pick<JobRow, "error_message" | "failure"> {
  if (status === "SUCCESS") return { error_message: null, failure: null };
  const isKept = typeof error_message !== "string" && job.outcome_unknown === 0;
  return {
    error_message: isKept ? job.error_message : (error_message ?? null),
    failure: failure ? failureText(failure) : isKept ? job.failure : null,
  };
}

/** Without the fields of a newer runner, which have no bound. */
const failureText = ({ kind, summary, variables }: JobFailure): string =>
  JSON.stringify({ kind, summary, variables });

/** The backend of the applied state stays recorded, even if the files no longer declare it. */
async function keepBackend(
  tx: Queries,
  job: JobRow,
  { status, backend }: ReportStatus,
): Promise<void> {
  const { job_type: type, spec_id: spec } = job;
  const isGone = isDestruction(job) && status === "SUCCESS";
  if (spec === null || !(isGone || (type === "DEPLOY" && backend !== undefined))) return;
  if (await isOvertaken(tx, job)) return;
  await tx.run(setDeployedBackend, { id: spec, backend: isGone ? null : (backend ?? null) });
}

/** Whether a later job of the same configuration has started. */
const isOvertaken = async (tx: Queries, { id, spec_id: spec, claimed_at }: JobRow) =>
  spec !== null &&
  (await tx.first(findLaterStarted, { spec, id, claimed_at: claimed_at ?? 0 })) !== undefined;
