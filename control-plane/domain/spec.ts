/** How the status of a spec follows its jobs (docs/decisions.md, "Configuration status"). Pure. */
import type { ConfigurationStatus } from "../../protocol/configurations.ts";
import type { JobStatus, JobType } from "../../protocol/jobs.ts";

/** Returns the status of a spec at the start of a DEPLOY or DESTROY; null: it does not change. */
export function statusAtStart(type: JobType): ConfigurationStatus | null {
  if (type === "DEPLOY") return "DEPLOYING";
  return type === "DESTROY" ? "DESTROYING" : null;
}

/**
 * Returns the status of a spec after the end of a job; null: it does not change. `before` is the
 * status that the job's start replaced.
 */
export function statusAtEnd(
  type: JobType,
  end: JobStatus,
  before: ConfigurationStatus | null,
): ConfigurationStatus | null {
  switch (end) {
    case "FAILED":
      return "FAILED";
    case "CANCELLED":
      return before;
    case "SUCCESS":
      if (type === "DEPLOY") return "DEPLOYED";
      return type === "DESTROY" ? "DESTROYED" : null;
    case "QUEUED":
      return before;
    case "PROCESSING":
      return null;
  }
}
