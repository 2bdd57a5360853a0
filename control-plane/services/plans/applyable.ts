import type { Queries } from "../../store/db.ts";
import { findArtifact } from "../../store/storage/job-files.ts";
import { findBriefSummary } from "./read-summary.ts";

/** Whether there is something to deploy, and the plan is still stored. */
export async function isApplyable(read: Queries, job: string): Promise<boolean> {
  const summary = await findBriefSummary(read, job);
  return summary?.applyable !== false && (await read.first(findArtifact, { job })) !== undefined;
}
