/** How the status of a spec follows its jobs (docs/decisions.md, "Configuration status"). Pure. */
import type { ConfigurationStatus } from "../../protocol/configurations.ts";
import { isDestruction, type JobRow } from "./job.ts";

type Job = Pick<JobRow, "job_type" | "destroys">;

/** Returns the status of a spec at the start of a DEPLOY or DESTROY; null: it does not change. */
export function statusAtStart(job: Job): ConfigurationStatus | null {
  if (isDestruction(job)) return "DESTROYING";
  return job.job_type === "DEPLOY" ? "DEPLOYING" : null;
}

interface Surroundings {
  /** The status that the job's start replaced. */
  readonly before: ConfigurationStatus | null;
  /** Whether the job has changed the infrastructure, or may have: its outcome is unknown. */
  readonly hasChanged: boolean;
  /** The status by what is deployed, which a PLAN's SUCCESS restores; null: it is not FAILED. */
  readonly deployed: ConfigurationStatus | null;
}

/** Returns the status of a spec after the end of a job; null: it does not change. */
export function statusAtEnd(
  job: Job & Pick<JobRow, "status">,
  { before, hasChanged, deployed }: Surroundings,
): ConfigurationStatus | null {
  switch (job.status) {
    case "FAILED":
      return "FAILED";
    case "CANCELLED":
      return hasChanged ? "FAILED" : before;
    case "SUCCESS":
      if (isDestruction(job)) return "DESTROYED";
      return job.job_type === "DEPLOY" ? "DEPLOYED" : deployed;
    case "QUEUED":
      return before;
    case "PROCESSING":
      return null;
  }
}
