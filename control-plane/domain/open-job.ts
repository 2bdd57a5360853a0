/** A job that stands in the way of a change, in words. */
import type { JobStatus, JobType } from "../../protocol/jobs.ts";

/** A job that has not ended, or that a runner may still work on. */
export interface OpenJob {
  readonly id: string;
  readonly job_type: JobType;
  readonly status: JobStatus;
  /** The name of its configuration, if it has one. */
  readonly configuration: string | null;
}

/** Names the job, and says what to do until it is out of the way. */
export function openJobText({ id, job_type, status, configuration }: OpenJob): string {
  const name = configuration === null ? `a ${job_type}` : `the ${job_type} of "${configuration}"`;
  return status === "QUEUED" || status === "PROCESSING"
    ? `${name} (job ${id}) has not ended: wait for it or cancel it first`
    : `${name} (job ${id}) has ended, but its runner has not released it yet: wait for that first`;
}
