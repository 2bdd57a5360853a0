/** What the end of a job says of the drift of its configuration, in the transaction of that end. */
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { driftAfter, failed, findingOf, unchecked, type Finding } from "../../domain/drift.ts";
import { isDestruction, type JobRow } from "../../domain/job.ts";
import type { StoredSnapshot } from "../../domain/snapshot-values.ts";
import { findDrift, saveDrift } from "../../store/configurations/drift.ts";
import type { Queries } from "../../store/db.ts";
import { findLaterStarted, findSnapshot } from "../../store/jobs/jobs.ts";
import { findPlanSummary } from "../../store/plans/summaries.ts";
import { system } from "../audit/audit.ts";
import { shortOf } from "../definitions.ts";
import { recordEvent } from "../events/record.ts";

/** The end of a drift check. A cancelled one says nothing, nor one of what was replaced since. */
export async function endDriftCheck(tx: Queries, job: JobRow, now: number): Promise<void> {
  const { id, spec_id: spec, status, claimed_at, created_at } = job;
  if (spec === null || (status !== "SUCCESS" && status !== "FAILED")) return;
  const later = { spec, id, claimed_at: claimed_at ?? created_at };
  if (await tx.first(findLaterStarted, later)) return;
  const stored = await tx.first(findPlanSummary, { job: id });
  const isRead = status === "SUCCESS" && stored !== undefined;
  const finding = isRead ? findingOf(JSON.parse(stored.plan_summary) as PlanSummary) : failed;
  await saveFinding(tx, job, spec, finding, now);
}

/** The success of an apply, after which nothing differs; of a destruction, nothing is left. */
export async function endDriftByApply(tx: Queries, job: JobRow, now: number): Promise<void> {
  const { spec_id: spec, job_type: type } = job;
  if (spec === null) return;
  if (isDestruction(job)) return saveDrift(tx, spec, unchecked);
  if (type !== "DEPLOY" || (await isLimited(tx, job.id))) return;
  await saveFinding(tx, job, spec, { status: "in_sync", resources: 0 }, now);
}

/** An apply of some addresses has refreshed only these. */
async function isLimited(tx: Queries, id: string): Promise<boolean> {
  const stored = await tx.first(findSnapshot, { id });
  const options = stored && shortOf<StoredSnapshot>(stored.config_snapshot).plan_options;
  return options !== undefined && options.targets.length + (options.exclude?.length ?? 0) > 0;
}

async function saveFinding(
  tx: Queries,
  job: JobRow,
  spec: string,
  finding: Finding,
  now: number,
): Promise<void> {
  const before = await tx.first(findDrift, { id: spec });
  if (!before) return;
  const { columns, event } = driftAfter(before, finding, job.id, now);
  await saveDrift(tx, spec, columns);
  if (event === null) return;
  await recordEvent(tx, now, {
    type: event,
    owner: before.owner_id,
    zone: before.zone_id,
    configuration: spec,
    job,
    by: system,
    ...(event === "drift.found" ? { data: { resources: finding.resources } } : {}),
  });
}
