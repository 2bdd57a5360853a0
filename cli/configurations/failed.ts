/** An unresolved failure of a configuration, in words. */
import type { Configuration } from "../../protocol/configurations.ts";
import { isChanging, statusWords } from "../../protocol/words.ts";
import { styled } from "../terminal/output.ts";
import { ago } from "../terminal/times.ts";

type StatusFields = Pick<Configuration, "status" | "deployed" | "failed_job">;
type Failure = Pick<Configuration, "error_message" | "failed_job">;

/** Returns the status, red if the last job failed, yellow if only checks did. */
export function styledConfigurationStatus(configuration: StatusFields): string {
  const words = statusWords(configuration);
  if (configuration.failed_job || words === "FAILED") {
    const isCalm = isChanging(configuration.status);
    return isCalm ? words : styled("red", words);
  }
  return words === configuration.status ? words : styled("yellow", words);
}

/** The same in a list: also that it has drifted. */
export const listedStatus = (one: StatusFields & Pick<Configuration, "drift">): string =>
  `${styledConfigurationStatus(one)}${one.drift?.status === "drifted" ? `, ${styled("yellow", "drifted")}` : ""}`;

/** Returns `last DEPLOY FAILED 5m ago, job 01890a5d-…`. */
export const failedText = ({
  id,
  job_type,
  status,
  ended_at,
}: NonNullable<StatusFields["failed_job"]>) =>
  `last ${job_type} ${status} ${ago(ended_at)}, job ${id}`;

/** Whether the error of a configuration is that of its failure, and not of a PLAN after it. */
export const hasErrorOfFailure = ({ error_message, failed_job }: Failure): boolean =>
  !failed_job?.error_message || (error_message ?? "").includes(failed_job.error_message);

/** Returns the failure, with its error unless that is the error of the configuration. */
export function failureText({ error_message, failed_job }: Failure): string | null {
  if (!failed_job) return null;
  const text = failedText(failed_job);
  return error_message !== null && hasErrorOfFailure({ error_message, failed_job })
    ? text
    : [text, failed_job.error_message].filter(Boolean).join(": ");
}
