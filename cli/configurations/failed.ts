/** A failure of a configuration that has not been made good, in words. */
import type { Configuration } from "../../protocol/configurations.ts";
import { ago } from "../terminal/times.ts";

type Standing = Pick<Configuration, "status" | "failed_job">;

/** Returns the status, and behind it an apply that failed although a PLAN has succeeded since. */
export function statusText({ status, failed_job }: Standing): string {
  const isCalm = status === "DEPLOYED" || status === "DESTROYED" || status === "NEW";
  if (!isCalm || !failed_job || failed_job.job_type === "PLAN") return status;
  return `${status}, last ${failed_job.job_type} ${failed_job.status}`;
}

/** Returns `last DEPLOY FAILED 5m ago, job 01890a5d-…`. */
export const failedText = ({
  id,
  job_type,
  status,
  ended_at,
}: NonNullable<Standing["failed_job"]>) => `last ${job_type} ${status} ${ago(ended_at)}, job ${id}`;
