/** Plan summaries: reported by the runner with the end of its job, read by the job's owner. */
import { isDeepStrictEqual } from "node:util";
import type { PlannedChange, PlanSummary } from "../../../protocol/plan-summary.ts";
import type { PlanCounts } from "../../../protocol/plan-counts.ts";
import { unknownPathsLimit, type UnknownValues } from "../../../protocol/made-known.ts";
import { attributesOf, onlyDestroys, onlyOf } from "../../../protocol/plan-text.ts";
import { changesResources } from "../../../protocol/words.ts";
import type { Answer } from "../../../protocol/endpoint.ts";
import type { endpoints } from "../../../protocol/endpoints.ts";
import type { UserCaller } from "../callers.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { isDestructive } from "../../domain/approvals.ts";
import { findOwnJob, findUseOfPlan, setDestructive } from "../../store/jobs/jobs.ts";
import {
  findPlanAttributes,
  findPlanSummary,
  savePlanSummary,
} from "../../store/plans/summaries.ts";
import type { Context } from "../context.ts";
import { joined, readPlanSummary, type Details } from "./read-summary.ts";
import { findPlanRefusal } from "../jobs/jobs.ts";

export async function storePlanSummary(
  tx: Queries,
  job: string,
  summary: PlanSummary,
): Promise<void> {
  await tx.run(setDestructive, { plan: job, destructive: isDestructive(summary) ? 1 : 0 });
  await savePlanSummary(tx, job, storedParts(summary));
}

/** Refuses a summary that is not the stored one. Attributes that retention removed are not compared. */
export async function checkSameSummary(
  tx: Queries,
  job: string,
  summary: PlanSummary,
): Promise<void> {
  const { plan_summary, attributes } = storedParts(summary);
  const stored = await tx.first(findPlanSummary, { job });
  const values = await tx.first(findPlanAttributes, { job });
  if (isSame(plan_summary, stored?.plan_summary))
    if (values === undefined || isSame(attributes, values.attributes)) return;
  throw new RefusalError(
    "job_ended",
    "the job has ended in SUCCESS with another plan summary, which is the one that people see and approve",
  );
}

const isSame = (json: string | null, then: string | undefined): boolean =>
  then !== undefined && isDeepStrictEqual(JSON.parse(json ?? "null"), JSON.parse(then));

/** Attributes and graph (up to 1 MiB) are stored apart, so that lists of summaries stay fast. */
function storedParts(summary: PlanSummary): { plan_summary: string; attributes: string | null } {
  const { graph, ...rest } = summary;
  const details: Details = {
    changes: summary.changes.map(({ attributes }) => attributes ?? null),
    outputs: summary.outputs.map(({ attributes }) => attributes ?? null),
    drift: summary.drift.map(({ attributes }) => attributes ?? null),
    ...(graph ? { graph } : {}),
  };
  const { changes, outputs, drift = [] } = details;
  const isEmpty = !graph && ![...changes, ...outputs, ...drift].some(Boolean);
  return {
    plan_summary: JSON.stringify({ ...rest, counts: withOnly(summary) }, withoutAttributes),
    attributes: isEmpty ? null : JSON.stringify(details),
  };
}

/** The counts are what lists read of a plan. */
function withOnly(summary: PlanSummary): PlanCounts {
  const { only: _, ...counts } = summary.counts;
  if (!summary.applyable || changesResources(counts)) return counts;
  return { ...counts, only: onlyOf(summary) };
}

/** For a DEPLOY, that of its plan. Leaves out attributes over `mostAttributes` as JSON. */
export async function getPlanSummary(
  context: Context,
  user: UserCaller,
  id: string,
  { mostAttributes = Infinity } = {},
): Promise<Answer<typeof endpoints.getPlanSummary>> {
  const { read } = context.store;
  const owner = user.space_id;
  const job = await read.first(findOwnJob, { id, owner });
  if (!job) throw notFound("job");
  const plan = job.plan_job_id ?? job.id;
  const plan_summary = await readPlanSummary(read, plan, mostAttributes);
  const use = await read.first(findUseOfPlan, { plan });
  const refusal = job.job_type === "PLAN" ? await findPlanRefusal(context, user, job) : null;
  return {
    job_id: job.id,
    plan_job_id: plan,
    plan_summary,
    deploy_job_id: use?.id ?? null,
    not_deployable: refusal && { code: refusal.code, detail: refusal.message },
  };
}

const withoutAttributes = (key: string, value: unknown): unknown =>
  key === "attributes" ? undefined : value;

/**
 * What the plan of a DEPLOY did not know, of what remains and is not sensitive; undefined if it knew
 * all. A plan without it is not parsed.
 */
export async function findUnknown(
  read: Queries,
  plan: string | null,
): Promise<UnknownValues | undefined> {
  const found = plan === null ? undefined : await read.first(findPlanSummary, { job: plan });
  if (plan === null || found === undefined) return undefined;
  const values = (await read.first(findPlanAttributes, { job: plan }))?.attributes;
  const hasUnknown = values?.includes('"unknown":true') === true;
  const hasChecks = ['"has_checks":true', '"checks":[{'].some((one) =>
    found.plan_summary.includes(one),
  );
  if (!hasUnknown && !hasChecks) return undefined;
  const { changes, checks, counts } = joined(found.plan_summary, values);
  let room = unknownPathsLimit;
  const resources = changes.flatMap((change) => {
    const paths = change.action === "delete" ? [] : unknownIn(change).slice(0, room);
    room -= paths.length;
    return paths.length === 0 ? [] : { address: change.address, paths };
  });
  const isChecked = hasChecks && !onlyDestroys(counts);
  if (resources.length === 0 && !isChecked) return undefined;
  return { resources, checks: isChecked ? checks.map(({ address }) => address) : [] };
}

const unknownIn = (change: PlannedChange): string[] =>
  attributesOf(change).flatMap((one) => (one.unknown && !one.sensitive ? one.path : []));
