/** What a drift check finds out. */
import type { Drift, DriftStatus } from "../../protocol/drift.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";
import { timeOrNull } from "./moments.ts";

/** The result of the last drift check of a spec, or of the DEPLOY since. */
export interface DriftColumns {
  drift_status: DriftStatus;
  /** Null if unchecked. */
  drift_since: number | null;
  drift_checked_at: number | null;
  drift_job_id: string | null;
  drift_resources: number;
  /** 1 from the event that it has drifted to the one that this is gone. */
  drift_told: 0 | 1;
}

/** Of a configuration of which nothing is deployed, or was checked. */
export const unchecked: DriftColumns = {
  drift_status: "unchecked",
  drift_since: null,
  drift_checked_at: null,
  drift_job_id: null,
  drift_resources: 0,
  drift_told: 0,
};

export interface Finding {
  readonly status: DriftStatus;
  readonly resources: number;
}

export const failed: Finding = { status: "failed", resources: 0 };

/** Only a plan that was read completely says that nothing differs. */
export function findingOf(summary: PlanSummary | undefined): Finding {
  if (!summary) return failed;
  const listed = summary.drift.filter(({ action }) => action !== "none" && action !== "read");
  const resources = listed.length + summary.drift_omitted;
  if (resources > 0) return { status: "drifted", resources };
  return summary.complete ? { status: "in_sync", resources } : failed;
}

/** The columns after a finding, and the event that tells of it once. */
export function driftAfter(
  before: DriftColumns,
  { status, resources }: Finding,
  job: string,
  now: number,
): { readonly columns: DriftColumns; readonly event: "drift.found" | "drift.gone" | null } {
  const isTold = before.drift_told === 1;
  const event =
    status === "drifted" && !isTold
      ? "drift.found"
      : status === "in_sync" && isTold
        ? "drift.gone"
        : null;
  const columns = {
    drift_status: status,
    drift_since: status === before.drift_status ? before.drift_since : now,
    drift_checked_at: now,
    drift_job_id: job,
    drift_resources: resources,
    // A check that fails in between is no reason to tell again.
    drift_told: event === null ? before.drift_told : event === "drift.found" ? 1 : 0,
  } as const;
  return { columns, event };
}

export const viewDrift = (row: DriftColumns): Drift => ({
  status: row.drift_status,
  since: timeOrNull(row.drift_since),
  checked_at: timeOrNull(row.drift_checked_at),
  job_id: row.drift_job_id,
  resources: row.drift_resources,
});
