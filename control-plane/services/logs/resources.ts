/** The resources that a job changes, as its runner reads them from terraform's progress. */
import type {
  Job,
  LogResource,
  ResourceOutcome,
  ResourceProgress,
} from "../../../protocol/jobs.ts";
import { second } from "../../../common/units.ts";
import type { PlanCounts } from "../../../protocol/plan-counts.ts";
import type { PlannedChange } from "../../../protocol/plan-summary.ts";
import { countChanged, findResourceEvents } from "../../store/logs/logs.ts";
import type { Context } from "../context.ts";
import { findBriefSummary } from "../plans/read-summary.ts";
import { markLimits } from "./archive-format.ts";
import { withArchived } from "./archives.ts";
import { hasApplied } from "./progress.ts";

/** One change of a resource; a replacement is two. */
export interface ResourceChange {
  readonly address: string;
  readonly action: LogResource["action"];
  /** By the runner's clock, in ms. */
  readonly started_at: number;
  /** Null while it is under way, or if terraform was stopped before its end. */
  readonly ended_at: number | null;
  readonly isFailed: boolean;
  /** The id of the log's chunk that begins with the line of its start, or of its failure. */
  readonly chunk: number;
  /** The id of the one that begins with the line of its end; null unless it has succeeded. */
  readonly lastChunk: number | null;
}

export interface Changes {
  /** In the order of their starts. */
  readonly list: readonly ResourceChange[];
  /** Milliseconds by the runner's clock; now while the job runs; its end if some did not end. */
  readonly until: number;
}

export interface ChangedResource {
  readonly address: string;
  /** Its changes in their order: a replacement has two. */
  readonly changes: readonly ResourceChange[];
  readonly state: "done" | "failed" | "open";
}

/** What an apply was to do to resources, and what it did to them so far. */
export interface Applied {
  /** In the order of the first starts. */
  readonly rows: readonly ChangedResource[];
  /** The actions that an apply reports, by the addresses of the plan. */
  readonly planned: ReadonlyMap<string, PlannedChange["action"]>;
}

/** Groups changes by their resource; `planned`: those of the plan. */
export function appliedOf(
  list: readonly ResourceChange[],
  planned: readonly PlannedChange[] = [],
): Applied {
  const actions = new Map(
    planned.flatMap(({ address, action }) => (applied.has(action) ? [[address, action]] : [])),
  );
  const rows = [...Map.groupBy(list, ({ address }) => address)].map(([address, changes]) => ({
    address,
    changes,
    state: stateOf(changes, actions.get(address)),
  }));
  return { rows, planned: actions };
}

const applied: ReadonlySet<PlannedChange["action"]> = new Set([
  "create",
  "update",
  "replace",
  "delete",
]);

/** Returns what became of a resource. `planned`: a replacement is done with its second change. */
function stateOf(
  changes: readonly ResourceChange[],
  planned: PlannedChange["action"] | undefined,
): ChangedResource["state"] {
  if (changes.some(({ isFailed }) => isFailed)) return "failed";
  if (planned === "replace" && changes.length < 2) return "open";
  return changes.some(({ ended_at }) => ended_at === null) ? "open" : "done";
}

export function progressOf({ rows }: Applied, counts: PlanCounts | null): ResourceProgress {
  const count = (wanted: ChangedResource["state"]) =>
    rows.filter(({ state }) => state === wanted).length;
  const { create = 0, update = 0, replace = 0, delete: deleted = 0 } = counts ?? {};
  const total = create + update + replace + deleted;
  return {
    done: count("done"),
    open: count("open"),
    failed: count("failed"),
    total: total >= rows.length ? total : null,
  };
}

/**
 * Returns what became of each resource of an apply that did not succeed: those of the plan in its
 * order, then those that only the runner named. `isUnknown`: the runner was lost, so what it did
 * after its last report is not known.
 */
export function outcomesOf({ rows, planned }: Applied, isUnknown: boolean): ResourceOutcome[] {
  const reached = new Map(rows.map((row) => [row.address, row]));
  const outcomeOf = (row: ChangedResource | undefined): ResourceOutcome["outcome"] => {
    if (row) return row.state === "open" ? "not_finished" : row.state;
    return isUnknown ? "unknown" : "not_reached";
  };
  const rest = rows.filter(({ address }) => !planned.has(address));
  return [
    ...Array.from(planned, ([address, action]) => {
      return { address, action, outcome: outcomeOf(reached.get(address)) };
    }),
    ...rest.map((row) => {
      return { address: row.address, action: actionOf(row), outcome: outcomeOf(row) };
    }),
  ];
}

/** An import changes only the state. */
function actionOf({ changes }: ChangedResource): ResourceOutcome["action"] {
  if (changes.length > 1 && changes.some(({ action }) => action === "delete")) return "replace";
  const action = changes.at(-1)?.action ?? "read";
  return action === "import" ? "none" : action;
}

/** Whether an apply ended without success, so that people ask what became of each resource. */
export const isHalfDone = ({ status, ended_at }: Pick<Job, "status" | "ended_at">): boolean =>
  ended_at !== null && (status === "FAILED" || status === "CANCELLED");

export async function findApplyProgress(
  context: Context,
  job: Job,
): Promise<Pick<Job, "resource_progress" | "apply_began">> {
  if (job.job_type === "PLAN" || job.started_at === null) return {};
  const { list } = await findResources(context, job);
  const apply_began = isHalfDone(job) ? list.length > 0 || (await hasBegun(context, job)) : null;
  if (list.length === 0) return { resource_progress: null, apply_began };
  const isOwnPlan = job.status === "SUCCESS" && job.plan_job_id === null;
  if (!isHalfDone(job) && !isOwnPlan)
    return { apply_began, resource_progress: progressOf(appliedOf(list), job.changes) };
  const plan = await findBriefSummary(context.store.read, job.plan_job_id ?? job.id);
  const all = appliedOf(list, plan?.changes ?? []);
  const resources = outcomesOf(all, job.outcome_unknown);
  return { apply_began, resource_progress: { ...progressOf(all, job.changes), resources } };
}

/** Null if unknown. A runner that counts its chunks also tells the steps. */
async function hasBegun(context: Context, job: Job): Promise<boolean | null> {
  if (await hasApplied(context, job.id)) return true;
  const isTold = job.log_complete === true && job.released_at !== null;
  return isTold && !job.outcome_unknown ? false : null;
}

export async function countChangedResources(
  { store }: Pick<Context, "store">,
  job: string,
): Promise<number> {
  return (await store.read.first(countChanged, { job, limit: markLimits.resources }))?.count ?? 0;
}

export async function findResources(
  context: Context,
  { id, ended_at, presumed_lost_at }: Pick<Job, "id" | "ended_at" | "presumed_lost_at">,
): Promise<Changes> {
  const { store, now } = context;
  const stored = await store.read.all(findResourceEvents, { job: id, limit: markLimits.resources });
  const rows = await withArchived(context, id, "resources", stored);
  const events = rows.map((row) => ({ ...row, resource: JSON.parse(row.resource) as LogResource }));
  if (ended_at === null) return changesOf(events, now());
  // What a lost job did after its last report is not known.
  return changesOf(events, presumed_lost_at === null ? Date.parse(ended_at) : null, true);
}

/**
 * Pairs each start with the end of the same resource and action. A runner that was away sees lines
 * late, so a duration that terraform gives decides. `now`: by the server's clock, or the end of
 * the job; null if this is not known.
 */
export function changesOf(
  events: readonly {
    readonly id: number;
    readonly resource: LogResource;
    readonly created_at: number;
  }[],
  now: number | null,
  isOver = now === null,
): Changes {
  const list: ResourceChange[] = [];
  /** Index in `list` of each that has not ended, and when the last one before it had ended. */
  const open = new Map<string, { index: number; after: number }>();
  let seen = 0;
  let ended = 0;
  for (const { id, resource } of events) {
    const { address, action, event } = resource;
    const at = Date.parse(resource.at);
    seen = Math.max(seen, at);
    const key = `${action} ${address}`;
    const begun = open.get(key);
    if (event === "started") {
      open.set(key, { index: list.length, after: ended });
      const isOpen = { ended_at: null, isFailed: false, chunk: id, lastChunk: null };
      list.push({ address, action, started_at: at, ...isOpen });
    } else if (begun) {
      open.delete(key);
      const change = list[begun.index] as ResourceChange;
      const isFailed = event === "failed";
      const times = timesOf(change.started_at, at, resource.elapsed_seconds, begun.after);
      const chunks = isFailed ? { chunk: id } : { lastChunk: id };
      list[begun.index] = { ...change, ...times, isFailed, ...chunks };
      ended = Math.max(ended, times.ended_at);
    }
  }
  const last = events.at(-1);
  if (isOver && open.size === 0) return { list, until: ended };
  if (!last || now === null) return { list, until: seen };
  // The clocks of runner and server may differ: the last event was at both.
  return { list, until: seen + Math.max(0, now - last.created_at) };
}

/** Terraform rounds both moments to seconds, and a runner sees them a little later. */
const usualDifference = 1500;

/** Returns when a change began and ended. `after`: it did not begin before this. */
function timesOf(start: number, end: number, elapsed: number | undefined, after: number) {
  const seen = { started_at: start, ended_at: Math.max(start, end) };
  if (elapsed === undefined) return seen;
  const late = end - start - elapsed * second;
  if (late > usualDifference) return { ...seen, ended_at: end - late };
  if (late < -usualDifference)
    return { ...seen, started_at: Math.min(start, Math.max(after, start + late)) };
  return seen;
}
