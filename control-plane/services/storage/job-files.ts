/** The files that a runner stores of a job that it holds: its plan artifact and its debug log. */
import type { JobRow } from "../../domain/job.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import {
  findJobFile,
  saveJobFile,
  type JobFileRow,
  type JobFiles,
} from "../../store/storage/job-files.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { startJob } from "../job-changes/holder.ts";
import { storeContent, type Stored } from "./stored-content.ts";

/**
 * Once per attempt. The same bytes again get the same response and store nothing; those of a newer
 * attempt replace the older ones. `findHeld` returns the job, or refuses: before the body is read,
 * and again when it is there, because an upload takes long.
 */
export async function storeJobFile(
  context: Context,
  table: JobFiles,
  findHeld: (queries: Queries) => Promise<JobRow>,
  content: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Stored<JobFileRow>> {
  await findHeld(context.store.read);
  return storeContent(context, content, limit, (written) =>
    writeJobs(context, async (tx, afterCommit) => {
      const now = context.now();
      const job = await findHeld(tx);
      const existing = await tx.first(findJobFile[table], { job: job.id });
      if (existing?.attempt === job.attempt) {
        if (existing.sha256 !== written.sha256) throw new RefusalError("artifact_exists");
        return { answer: existing, stored: false };
      }
      await startJob(tx, afterCommit, job, now);
      const row = { job_id: job.id, attempt: job.attempt, ...written, created_at: now };
      await saveJobFile(tx, table, row);
      return { answer: row, stored: true, replaced: existing?.blob };
    }),
  );
}
