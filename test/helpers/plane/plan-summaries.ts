/** Plan summaries for tests. */
import type { PlanSummary } from "../../../protocol/plan-summary.ts";

/** A plan that changes nothing. Tests replace the fields that matter to them. */
export const emptySummary: PlanSummary = {
  counts: { create: 0, update: 0, replace: 0, delete: 0, forget: 0, move: 0, import: 0 },
  changes: [],
  changes_omitted: 0,
  drift: [],
  drift_omitted: 0,
  outputs: [],
  outputs_omitted: 0,
  checks: [],
  applyable: true,
  complete: true,
};
