/** Reads the summary of a plan, whose attributes and graph are stored apart. */
import type { OutputChange, PlannedChange, PlanSummary } from "../../../protocol/plan-summary.ts";
import type { Queries } from "../../store/db.ts";
import { findPlanAttributes, findPlanSummary } from "../../store/plans/summaries.ts";

/** The parts of a summary that are stored apart. */
export interface Details {
  readonly changes: readonly (PlannedChange["attributes"] | null)[];
  readonly outputs: readonly (OutputChange["attributes"] | null)[];
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
  const changes = summary.changes.map((change, index) => {
    const attributes = details.changes[index];
    return attributes ? { ...change, attributes } : change;
  });
  const outputs = summary.outputs.map((output, index) => {
    const attributes = details.outputs[index];
    return attributes ? { ...output, attributes } : output;
  });
  return { ...summary, changes, outputs, ...(details.graph ? { graph: details.graph } : {}) };
}
