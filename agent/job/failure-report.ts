/** The report of a job that a step, or what stops it, has ended. */
import type { ReportStatus } from "../../protocol/executions.ts";
import type { JobFailure } from "../../protocol/job-failure.ts";
import { timeoutSecondsDefault } from "../../protocol/limits.ts";
import {
  JobStoppedError,
  OutcomeUnknownError,
  StepFailedError,
  type JobContext,
} from "./context.ts";
import type { StopReason } from "./journal.ts";
import { messageMaskerOf } from "./secrets.ts";

/** `error_message` on the wire takes 8192 characters. */
const messageLimit = 8000;

type Base = Pick<JobContext, "claim" | "journal" | "settings">;

/** How many seconds the job may run. */
export const timeoutOf = ({ claim: { job } }: Base): number =>
  job.timeout_seconds ?? job.config_snapshot.timeout_seconds ?? timeoutSecondsDefault;

const stopReasons: Partial<Record<StopReason, string>> = {
  "agent stopped": "the agent was stopped",
  revoked: "the token of the worker was revoked",
};

/** Whether an error says how the job ended; any other is a defect or a failure of the agent. */
export const isOfJob = (error: unknown): boolean =>
  error instanceof StepFailedError || error instanceof JobStoppedError;

/** The first reason to stop comes first in the message; terraform's own error follows. */
export function failureReport(
  base: Base,
  error: Error,
  step: string,
  stop: AbortSignal,
): ReportStatus {
  const said = isOfJob(error) ? error.message : `${step}: the agent failed: ${error.message}`;
  const mask = messageMaskerOf(base);
  const failed = error instanceof StepFailedError ? error : undefined;
  const report = (
    status: ReportStatus["status"],
    message: string,
    failure: JobFailure | undefined,
  ): ReportStatus => ({
    status,
    error_message: mask(message).slice(0, messageLimit),
    ...(failure && { failure: masked(failure, mask) }),
    ...(error instanceof OutcomeUnknownError ? { outcome_unknown: true } : {}),
    ...(failed?.isStateUnsaved ? { state_unsaved: true } : {}),
  });
  const cause = failed?.failure;
  if (!stop.aborted) return report("FAILED", said, cause);
  const isLate = stop.reason === "timed out";
  const why = isLate
    ? `timed out after ${timeoutOf(base)} s during ${step}`
    : `${stopReasons[stop.reason as StopReason] ?? "cancelled"} during ${step}`;
  return report(isLate ? "FAILED" : "CANCELLED", failed ? `${why}; ${said}` : why, {
    kind: isLate ? "timed_out" : "stopped",
    ...(cause?.summary && { summary: `${why}; ${cause.summary}` }),
  });
}

const masked = (
  { kind, summary, variables }: JobFailure,
  mask: (text: string) => string,
): JobFailure => ({
  kind,
  ...(summary && { summary: mask(summary) }),
  ...(variables && { variables: variables.map(mask) }),
});
