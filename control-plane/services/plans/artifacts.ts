/** Stores plan artifacts and returns them. */
import { planArtifactLimit, type PlanArtifact } from "../../../protocol/executions.ts";
import type { WorkerCaller } from "../callers.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import {
  findArtifact,
  findHeldUseOfPlan,
  saveArtifact,
  type ArtifactRow,
} from "../../store/plans/artifacts.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import type { Context } from "../context.ts";
import { findFenced, startJob } from "../job-changes/holder.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { contentOf, storeContent, type Content, type Recorded } from "../storage/stored-content.ts";

/**
 * POST /api/jobs/{id}/plan-artifact. Once per attempt. The same bytes again get the same response
 * and store nothing; those of a newer attempt replace the older ones.
 */
export async function uploadPlanArtifact(
  context: Context,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
  content: AsyncIterable<Uint8Array>,
): Promise<Recorded<PlanArtifact>> {
  // Judged before the body is read, and again when it is there: an upload takes long.
  await findFenced(context.store.read, worker, id, attempt);
  return storeContent(context, content, planArtifactLimit, (written) =>
    writeJobs(context, async (tx, afterCommit) => {
      const now = context.now();
      const job = await findFenced(tx, worker, id, attempt);
      const existing = await tx.first(findArtifact, { job: job.id });
      if (existing?.attempt === job.attempt) {
        if (existing.sha256 !== written.sha256) throw new RefusalError("artifact_exists");
        return { answer: artifactOf(existing), stored: false };
      }
      await startJob(tx, afterCommit, job, now);
      const row = { job_id: job.id, attempt: job.attempt, ...written, created_at: now };
      await saveArtifact(tx, row);
      return { answer: artifactOf(row), stored: true, replaced: existing?.blob };
    }),
  );
}

const artifactOf = ({ job_id, size_bytes, sha256 }: ArtifactRow): PlanArtifact => ({
  job_id,
  size_bytes,
  sha256,
});

/**
 * GET /api/jobs/{id}/plan-artifact. For a DEPLOY, returns the artifact of the plan that it names,
 * because a claim of the published interface names only the job itself.
 */
export async function findPlanArtifact(
  context: Context,
  worker: WorkerCaller,
  id: string,
): Promise<Content> {
  const { read } = context.store;
  const job = await read.first(findJob, { id });
  const mayRead =
    job &&
    (job.worker_id === worker.id ||
      (await read.first(findHeldUseOfPlan, { plan: id, worker: worker.id })));
  if (!mayRead) throw notFound("job");
  const artifact = await read.first(findArtifact, { job: job.plan_job_id ?? job.id });
  if (!artifact) throw notFound("plan artifact");
  return contentOf(context, artifact);
}
