/** How the status of a spec follows its jobs (docs/decisions.md, "Configuration status"). Pure. */
import type { ConfigurationStatus } from "../../protocol/configurations.ts";
import type { JobStatus, JobType } from "../../protocol/jobs.ts";

/** Returns the status of a spec at the start of a DEPLOY or DESTROY; null: it does not change. */
export function statusAtStart(type: JobType): ConfigurationStatus | null {
  if (type === "DEPLOY") return "DEPLOYING";
  return type === "DESTROY" ? "DESTROYING" : null;
}

export interface Surroundings {
  /** The status that the job's start replaced. */
  readonly before: ConfigurationStatus | null;
  /** Whether the job has changed the infrastructure, as far as is known. */
  readonly hasChanged: boolean;
  /** The status by what is deployed, which a PLAN's SUCCESS restores; null: it is not FAILED. */
  readonly deployed: ConfigurationStatus | null;
}

/** Returns the status of a spec after the end of a job; null: it does not change. */
export function statusAtEnd(
  type: JobType,
  end: JobStatus,
  { before, hasChanged, deployed }: Surroundings,
): ConfigurationStatus | null {
  switch (end) {
    case "FAILED":
      return "FAILED";
    case "CANCELLED":
      return hasChanged ? "FAILED" : before;
    case "SUCCESS":
      if (type === "DEPLOY") return "DEPLOYED";
      return type === "DESTROY" ? "DESTROYED" : deployed;
    case "QUEUED":
      return before;
    case "PROCESSING":
      return null;
  }
}
