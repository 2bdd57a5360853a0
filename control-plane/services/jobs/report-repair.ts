/** The end of a job, or its log, is not lost because another field is invalid. */
import type { TSchema } from "typebox";
import { logChunksLimit } from "../../../protocol/executions.ts";
import { reasonLimit } from "../../../protocol/fields.ts";
import { outputsOmitted } from "../../../protocol/configurations.ts";
import { planSummaryLimit } from "../../../protocol/limits.ts";
import { PlanSummary } from "../../../protocol/plan-summary.ts";
import { LogResource, LogStep, outputsLimit, outputTextLimit } from "../../../protocol/jobs.ts";
import { JobFailure } from "../../../protocol/job-failure.ts";
import { JobWarnings } from "../../../protocol/job-warnings.ts";
import { MadeKnown } from "../../../protocol/made-known.ts";
import { compileValidator } from "../../domain/validation.ts";

/** Cuts long messages and leaves out invalid fields. The status is checked later. */
export function repairReport(body: unknown): unknown {
  if (!isMap(body)) return body;
  const {
    status,
    error_message,
    failure,
    outcome_unknown,
    state_unsaved,
    backend,
    last_seq,
    plan_summary,
    execution_metadata,
  } = body;
  return {
    status,
    ...(typeof error_message === "string" ? { error_message: cut(error_message) } : {}),
    ...(fitsFailure(failure) ? { failure } : {}),
    ...(typeof outcome_unknown === "boolean" ? { outcome_unknown } : {}),
    ...(typeof state_unsaved === "boolean" ? { state_unsaved } : {}),
    ...(backend === "managed" || backend === "own" ? { backend } : {}),
    ...(Number.isSafeInteger(last_seq) && Number(last_seq) >= 0 ? { last_seq } : {}),
    ...(isMap(execution_metadata) ? { execution_metadata: repaired(execution_metadata) } : {}),
    ...(isSummary(plan_summary) ? { plan_summary } : {}),
  };
}

/** Drops invalid steps and resources, and those of chunks of the wrong stream. Changes the body. */
export function repairLogPost(body: unknown): unknown {
  if (!isMap(body)) return body;
  dropWrongMarks(body);
  if (Array.isArray(body["chunks"]))
    body["chunks"].slice(0, logChunksLimit).forEach(dropWrongMarks);
  return body;
}

function dropWrongMarks(chunk: unknown): void {
  if (!isMap(chunk)) return;
  const { step, resource, stream_type } = chunk;
  const isSystem = stream_type === "SYSTEM";
  if (step !== undefined && !(isSystem && isStep(step))) delete chunk["step"];
  if (resource !== undefined && (isSystem || !isResource(resource))) delete chunk["resource"];
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const cut = (text: string): string =>
  text.length <= reasonLimit ? text : `${text.slice(0, reasonLimit - 1).toWellFormed()}…`;

function repaired({
  outputs,
  outputs_omitted: reported,
  ...metadata
}: Record<string, unknown>): Record<string, unknown> {
  const all = isMap(outputs) ? Object.entries(outputs) : [];
  const omitted = (isOmitted(reported) ? reported : 0) + Math.max(0, all.length - outputsLimit);
  return {
    ...Object.fromEntries(Object.entries(metadata).filter(isKept)),
    ...(isMap(outputs) ? { outputs: Object.fromEntries(all.slice(0, outputsLimit)) } : {}),
    ...(isOmitted(omitted) && omitted > 0 ? { outputs_omitted: omitted } : {}),
  };
}

const isKept = ([name, value]: [string, unknown]): boolean =>
  name === "warnings"
    ? fitsWarnings(value)
    : name === "made_known"
      ? fitsKnown(value) && JSON.stringify(value).length <= planSummaryLimit
      : !texts.has(name) || (typeof value === "string" && value.length <= outputTextLimit);

const texts: ReadonlySet<string> = new Set([
  "cluster_name",
  "cluster_endpoint",
  "gitops_url",
  "source_commit",
]);

/** A plan without a summary is shown as unknown. */
const isSummary = (value: unknown): boolean =>
  isMap(value) && fitsSummary(value) && JSON.stringify(value).length <= planSummaryLimit;

const fits = (schema: TSchema): ((value: unknown) => boolean) =>
  compileValidator({ schema, httpPart: "body" });

const fitsSummary = fits(PlanSummary);
const fitsFailure = fits(JobFailure);
const fitsWarnings = fits(JobWarnings);
const fitsKnown = fits(MadeKnown);
const fitsOmitted = fits(outputsOmitted);
const isOmitted = (value: unknown): value is number => fitsOmitted(value);
const isStep = fits(LogStep);
const isResource = fits(LogResource);
