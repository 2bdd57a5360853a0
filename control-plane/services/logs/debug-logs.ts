/**
 * Debug logs of jobs: stored for the runner that holds the job, sent to the users who may read it.
 */
import { debugLogLimit, type DebugLog } from "../../../protocol/executions.ts";
import type { UserCaller, WorkerCaller } from "../callers.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { findDebugLog, saveDebugLog, type DebugLogRow } from "../../store/logs/debug-logs.ts";
import { hasDebug, type JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import { findOwnJob } from "../../store/jobs/jobs.ts";
import { gzipOnly } from "../configurations/archives.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { findFenced, startJob } from "../job-changes/holder.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { contentOf, storeContent, type Content, type Recorded } from "../storage/stored-content.ts";

/**
 * POST /api/jobs/{id}/debug-log. Once per attempt, like a plan artifact. The same bytes again get
 * the same response and store nothing; those of a newer attempt replace the older ones.
 */
export async function uploadDebugLog(
  context: Context,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
  content: AsyncIterable<Uint8Array>,
): Promise<Recorded<DebugLog>> {
  // Judged before the body is read, and again when it is there: an upload takes long.
  await findWanting(context.store.read, worker, id, attempt);
  return storeContent(context, gzipOnly(content), debugLogLimit, (written) =>
    writeJobs(context, async (tx, afterCommit) => {
      const now = context.now();
      const job = await findWanting(tx, worker, id, attempt);
      const existing = await tx.first(findDebugLog, { job: job.id });
      if (existing?.attempt === job.attempt) {
        if (existing.sha256 !== written.sha256)
          throw new RefusalError(
            "artifact_exists",
            "the debug log of this attempt is already stored",
          );
        return { answer: viewOf(existing), stored: false };
      }
      await startJob(tx, afterCommit, job, now);
      const row = { job_id: job.id, attempt: job.attempt, ...written, created_at: now };
      await saveDebugLog(tx, row);
      afterCommit.push((wakeups) => wakeups.notify("job", job.id));
      return { answer: viewOf(row), stored: true, replaced: existing?.blob };
    }),
  );
}

/** Returns the job if this worker and attempt hold it and it keeps a debug log. */
async function findWanting(
  queries: Queries,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
): Promise<JobRow> {
  const job = await findFenced(queries, worker, id, attempt);
  if (!hasDebug(job)) throw invalid("params.id", "is a job that was created without debug");
  // Retention would not remove it again.
  if (job.log_pruned_at !== null)
    throw new RefusalError("job_ended", "retention has removed the log of this job");
  return job;
}

const viewOf = ({ job_id, size_bytes }: DebugLogRow): DebugLog => ({ job_id, size_bytes });

/**
 * GET /api/cli/jobs/{id}/debug-log. It may contain secrets, so the download is recorded before its
 * first byte is sent.
 */
export async function findDebugLogContent(
  context: Context,
  user: UserCaller,
  id: string,
): Promise<Content> {
  const row = await context.store.write(async (tx) => {
    const job = await tx.first(findOwnJob, { id, owner: user.space_id });
    if (!job) throw notFound("job");
    const found = await tx.first(findDebugLog, { job: id });
    if (!found) throw notFound("debug log");
    const target = { id, name: job.job_type, details: { size_bytes: found.size_bytes } };
    await recordOwn(tx, user, { action: "job.download_debug_log", ...target }, context.now());
    return found;
  });
  return contentOf(context, row);
}
