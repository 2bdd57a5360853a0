import type { DebugLog } from "../../../protocol/executions.ts";
import { debugLogLimit } from "../../../protocol/limits.ts";
import type { UserCaller, WorkerCaller } from "../callers.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { hasDebug, type JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import { findOwnJob } from "../../store/jobs/jobs.ts";
import { findDebugLog } from "../../store/storage/job-files.ts";
import { gzipOnly } from "../configurations/archives.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { findFenced } from "../job-changes/holder.ts";
import { storeJobFile } from "../storage/job-files.ts";
import { contentOf, type Content, type Stored } from "../storage/stored-content.ts";

export async function uploadDebugLog(
  context: Context,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
  content: AsyncIterable<Uint8Array>,
): Promise<Stored<DebugLog>> {
  const findHeld = (queries: Queries) => findWanting(queries, worker, id, attempt);
  const { answer, stored } = await storeJobFile(
    context,
    "debug_logs",
    findHeld,
    gzipOnly(content),
    debugLogLimit,
  );
  if (stored) context.wakeups.notify("job", answer.job_id);
  const { job_id, size_bytes } = answer;
  return { answer: { job_id, size_bytes }, stored };
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

/** May contain secrets: the download is recorded before its first byte is sent. */
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
