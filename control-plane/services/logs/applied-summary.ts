/** What a job has changed that planned and applied by itself, as the summary of a plan. */
import type { LogResource } from "../../../protocol/jobs.ts";
import { planListLimit, planListsLimit } from "../../../protocol/limits.ts";
import type { PlannedChange, PlanSummary } from "../../../protocol/plan-summary.ts";
import type { JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import { findFirstOutput, findResourceEvents } from "../../store/logs/logs.ts";
import { markLimits } from "./archive-format.ts";
import { withoutControlSequences } from "../../../common/control-sequences.ts";

/** For a job without a plan summary; null if unknown or if there are too many events. */
export async function summaryOfApplied(
  tx: Queries,
  { id: job, job_type, plan_job_id, status, last_seq }: JobRow,
): Promise<PlanSummary | null> {
  const isApplied = job_type === "DESTROY" || (job_type === "DEPLOY" && plan_job_id === null);
  if (!isApplied || status !== "SUCCESS") return null;
  const rows = await tx.all(findResourceEvents, { job, limit: markLimits.resources });
  if (rows.length === markLimits.resources) return null;
  const all = changedBy(rows.map(({ resource }) => JSON.parse(resource) as LogResource));
  // Only a runner that counts its chunks reports every resource.
  const other = all.length > 0 || last_seq === null ? undefined : await findOtherChange(tx, job);
  if (rows.length === 0 && other === undefined) return null;
  const count = (wanted: PlannedChange["action"]) =>
    all.filter(({ action }) => action === wanted).length;
  const changes = withinLimits(all);
  return {
    counts: {
      create: count("create"),
      update: count("update"),
      replace: count("replace"),
      delete: count("delete"),
      forget: 0,
      move: 0,
      import: all.filter(({ imported }) => imported).length,
      ...(other === undefined || other === "nothing" ? {} : { only: other }),
    },
    changes,
    changes_omitted: all.length - changes.length,
    drift: [],
    drift_omitted: 0,
    outputs: [],
    outputs_omitted: 0,
    checks: [],
    applyable: other !== "nothing",
    complete: true,
  };
}

/** Returns what an apply did to resources: deletions and replacements first, as in a plan. */
function changedBy(events: readonly LogResource[]): PlannedChange[] {
  const actions = new Map<string, Set<LogResource["action"]>>();
  for (const { address, action, event } of events) {
    if (event !== "ended" || action === "read") continue;
    actions.set(address, (actions.get(address) ?? new Set()).add(action));
  }
  const changes = Array.from(actions, ([address, done]): PlannedChange => {
    const imported = done.has("import") ? { imported: true } : {};
    if (done.has("create"))
      return { address, action: done.has("delete") ? "replace" : "create", ...imported };
    if (done.has("delete")) return { address, action: "delete", ...imported };
    return { address, action: done.has("update") ? "update" : "none", ...imported };
  });
  return [...changes.filter(destroys), ...changes.filter((change) => !destroys(change))];
}

const destroys = ({ action }: PlannedChange): boolean =>
  action === "delete" || action === "replace";

function withinLimits(changes: readonly PlannedChange[]): PlannedChange[] {
  let room = planListsLimit;
  return changes
    .slice(0, planListLimit)
    .filter((change) => (room -= Buffer.byteLength(JSON.stringify(change)) + 1) >= 0);
}

/** Chunks of at most 32 KiB; an apply that changes no resource prints little. */
const chunksRead = 40;

/** Read from terraform's own output; undefined if not found. */
async function findOtherChange(
  tx: Queries,
  job: string,
): Promise<"nothing" | "outputs" | "state" | undefined> {
  const chunks = await tx.all(findFirstOutput, { job, limit: chunksRead });
  const text = withoutControlSequences(chunks.map(({ log_chunk }) => log_chunk).join(""));
  if (/^Changes to Outputs:/m.test(text)) return "outputs";
  if (/^No changes\. /m.test(text)) return "nothing";
  return /^Plan: 0 to add/m.test(text) ? "state" : undefined;
}
