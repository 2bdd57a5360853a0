/** Reads the summary of a plan, whose attributes and graph are stored apart. */
import type {
  DriftedResource,
  OutputChange,
  PlannedChange,
  PlanSummary,
} from "../../../protocol/plan-summary.ts";
import type { Queries } from "../../store/db.ts";
import { findPlanAttributes, findPlanSummary } from "../../store/plans/summaries.ts";

/** The parts of a summary that are stored apart. */
export interface Details {
  readonly changes: readonly (PlannedChange["attributes"] | null)[];
  readonly outputs: readonly (OutputChange["attributes"] | null)[];
  /** Missing in summaries of earlier versions. */
  readonly drift?: readonly (DriftedResource["attributes"] | null)[];
  readonly graph?: PlanSummary["graph"];
}

/** Without attributes and graph. */
export async function findBriefSummary(
  queries: Queries,
  job: string,
): Promise<PlanSummary | undefined> {
  const found = await queries.first(findPlanSummary, { job });
  return found && (JSON.parse(found.plan_summary) as PlanSummary);
}

/** Of a PLAN of any owner; null if it has none. Leaves out attributes over `mostAttributes` as JSON. */
export async function readPlanSummary(
  read: Queries,
  job: string,
  mostAttributes: number,
): Promise<PlanSummary | null> {
  const found = await read.first(findPlanSummary, { job });
  if (!found) return null;
  const values = await read.first(findPlanAttributes, { job });
  const isShown = values !== undefined && values.attributes.length <= mostAttributes;
  return joined(found.plan_summary, isShown ? values.attributes : undefined);
}

export function joined(plan_summary: string, values: string | undefined): PlanSummary {
  const summary = JSON.parse(plan_summary) as PlanSummary;
  if (values === undefined) return summary;
  const details = JSON.parse(values) as Details;
  const changes = withAttributes(summary.changes, details.changes);
  const outputs = withAttributes(summary.outputs, details.outputs);
  const drift = withAttributes(summary.drift, details.drift);
  return {
    ...summary,
    changes,
    outputs,
    drift,
    ...(details.graph ? { graph: details.graph } : {}),
  };
}

const withAttributes = <T extends { attributes?: unknown }>(
  items: readonly T[],
  details: readonly (T["attributes"] | null)[] = [],
): T[] =>
  items.map((item, index) => {
    const attributes = details[index];
    return attributes ? { ...item, attributes } : item;
  });
