import type { PlanArtifact } from "../../../protocol/executions.ts";
import { planArtifactLimit } from "../../../protocol/limits.ts";
import type { WorkerCaller } from "../callers.ts";
import { notFound } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findHeldUseOfPlan, findJob } from "../../store/jobs/jobs.ts";
import { findArtifact } from "../../store/storage/job-files.ts";
import type { Context } from "../context.ts";
import { findFenced } from "../job-changes/holder.ts";
import { storeJobFile } from "../storage/job-files.ts";
import { contentOf, type Content, type Stored } from "../storage/stored-content.ts";

export async function uploadPlanArtifact(
  context: Context,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
  content: AsyncIterable<Uint8Array>,
): Promise<Stored<PlanArtifact>> {
  const findHeld = (queries: Queries) => findFenced(queries, worker, id, attempt);
  const { answer, stored } = await storeJobFile(
    context,
    "plan_artifacts",
    findHeld,
    content,
    planArtifactLimit,
  );
  const { job_id, size_bytes, sha256 } = answer;
  return { answer: { job_id, size_bytes, sha256 }, stored };
}

/** For a DEPLOY, that of its plan: the published interface names only the job itself. */
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
