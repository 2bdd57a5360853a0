/** A job's change and all that follows are one transaction. Wakeups are sent after the commit. */
import { isHeld, hasEnded, type JobRow } from "../../domain/job.ts";
import { withLists } from "../../domain/worker.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import type { Queries, ShareOptions } from "../../store/db.ts";
import { wakeRun } from "../../store/schedules/rounds.ts";
import {
  refreshUnapproved,
  refreshVotedOn,
  type RefreshedJob,
} from "../../store/approvals/approvals.ts";
import { findNextOfSpec, findQueuedTeardowns, saveJob } from "../../store/jobs/jobs.ts";
import {
  markChange,
  markOpenPlans,
  markPullRequest,
  wakePoller,
} from "../../store/connections/job-changes.ts";
import { releaseLock } from "../../store/states/states.ts";
import type { JobEvent, QueuedHint, Wakeups } from "../../wakeups/wakeups.ts";
import type { Actor } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { recordApprovalNeeded, recordChange } from "./job-events.ts";
import { endDriftCheck } from "./drift.ts";
import type { Takeover } from "./own-source.ts";
import { endSpec, startSpec } from "./spec-status.ts";

/** Wakeups to send after the commit. */
export type AfterCommit = ((wakeups: Wakeups) => void)[];

/** Runs a transaction that changes jobs, then sends the wakeups that it collected. */
export const writeJobs = <T>(
  { store, wakeups }: Pick<Context, "store" | "wakeups">,
  change: (tx: Queries, afterCommit: AfterCommit) => Promise<T>,
): Promise<T> => thenNotify<T>(wakeups, (work) => store.write(work), change);

/** A shared change has to change more than the rows that it has locked. */
class NeedsExclusiveError extends Error {
  override readonly name = "NeedsMoreError";
}

const alreadyExclusive = (): void => undefined;
const demandExclusive = (): void => {
  throw new NeedsExclusiveError();
};

/**
 * Makes a frequent change, which runs beside others where control planes share the store.
 * Before it changes rows that it has not locked it calls `beExclusive`, which then starts it again
 * as an ordinary change.
 */
export async function shareJobs<T>(
  { store, wakeups }: Pick<Context, "store" | "wakeups">,
  change: (tx: Queries, afterCommit: AfterCommit, beExclusive: () => void) => Promise<T>,
  options?: ShareOptions,
): Promise<T> {
  const share = (beExclusive: () => void) =>
    thenNotify<T>(
      wakeups,
      (work) => store.share(work, options),
      (tx, afterCommit) => change(tx, afterCommit, beExclusive),
    );
  // In a store that is not shared, every change is exclusive.
  if (!store.isShared) return share(alreadyExclusive);
  try {
    return await share(demandExclusive);
  } catch (error) {
    if (!(error instanceof NeedsExclusiveError)) throw error;
    return writeJobs({ store, wakeups }, (tx, afterCommit) =>
      change(tx, afterCommit, alreadyExclusive),
    );
  }
}

async function thenNotify<T>(
  wakeups: Wakeups,
  run: (work: (tx: Queries) => Promise<T>) => Promise<T>,
  change: (tx: Queries, afterCommit: AfterCommit) => Promise<T>,
): Promise<T> {
  let afterCommit: AfterCommit = [];
  const result = await run((tx) => {
    afterCommit = [];
    return change(tx, afterCommit);
  });
  for (const notify of afterCommit) notify(wakeups);
  return result;
}

export interface ChangeOptions {
  /** A lost job, or one with an unknown outcome, may have written its state only in part. */
  readonly keepLock?: boolean;
  /** Its runner has applied to a state that the server does not keep. */
  readonly hasApplied?: boolean;
  /** The person or the connection that asked for it. */
  readonly by?: Pick<Actor, "kind" | "name">;
  /** What was prepared for a DEPLOY that starts. */
  readonly takeover?: Takeover | undefined;
}

/** Saves `after` and everything that follows from the difference. Returns the saved job. */
export async function changeJob(
  tx: Queries,
  afterCommit: AfterCommit,
  before: JobRow,
  after: JobRow,
  now: number,
  { keepLock = false, hasApplied = false, by, takeover }: ChangeOptions = {},
): Promise<JobRow> {
  if (after === before) return before;
  let job = after;
  if (job.spec_id !== null && startsNow(before, job)) job = await startSpec(tx, job, now, takeover);
  const isOfPullRequest = await noteForHost(tx, before, job, now);
  if (endDiffers(before, job) && job.drift_check === 1) await endDriftCheck(tx, job, now);
  else if (endDiffers(before, job) && !isOfPullRequest) await endSpec(tx, job, hasApplied);
  await saveJob(tx, job);
  await recordChange(tx, before, job, now, by);
  afterCommit.push((wakeups) => wakeups.notify("job", job.id));
  for (const what of eventsOf(before, job))
    notifyOfEvent(afterCommit, what, job, by?.name ?? undefined);
  const isEnd = hasEnded(job) && !hasEnded(before);
  if (isEnd && job.schedule_id !== null && job.job_type === "PLAN")
    await tx.run(wakeRun, { plan: job.id, now });
  const isReleased = isHeld(before) && !isHeld(job);
  if (job.spec_id !== null) {
    const isUnlocked = job.released_at !== null && !keepLock && (await releaseLock(tx, job.id));
    if (isUnlocked || isReleased) await notifyNextOfSpec(tx, afterCommit, job.spec_id);
  }
  if (isReleased && before.worker_id !== null)
    for (const waiting of await tx.all(findQueuedTeardowns, { worker: before.worker_id }))
      afterCommit.push((wakeups) => wakeups.notify("queue", hintOf(waiting)));
  if (job.status === "QUEUED") {
    if (job.spec_id !== null)
      await refreshQueue(tx, afterCommit, { id: job.spec_id, owner_id: job.owner_id }, now);
    afterCommit.push((wakeups) => wakeups.notify("queue", hintOf(job)));
  }
  const holder = job.worker_id;
  if (job.status === "CANCELLED" && holder !== null)
    afterCommit.push((wakeups) => wakeups.notify("worker", holder));
  return job;
}

/**
 * Notes what the code host is to show of a job that starts or ends, and lets the poller look for what
 * a PLAN of a push is followed by. Returns whether it is a PLAN of a pull request, which leaves the
 * status of its configuration alone.
 */
async function noteForHost(
  tx: Queries,
  before: JobRow,
  job: JobRow,
  now: number,
): Promise<boolean> {
  const isShown = job.status !== before.status || job.started_at !== before.started_at;
  if (job.spec_id === null || !(isShown || endDiffers(before, job))) return false;
  const change = await tx.first(markChange, { job: job.id, now });
  if (!change) return false;
  const { connection_id: connection, pull_request_id, merged_request_id } = change;
  for (const id of [pull_request_id, merged_request_id])
    if (id !== null) await tx.run(markPullRequest, { id, now });
  if (job.job_type === "DEPLOY" && job.status === "SUCCESS")
    await markOpenPlans(tx, job.spec_id, now);
  else if (pull_request_id !== null) return job.job_type === "PLAN";
  else if (connection !== null && job.job_type === "PLAN" && job.status === "SUCCESS")
    await tx.run(wakePoller, { connection, now });
  return false;
}

/** Logs and counts an event of a job, after the commit. */
export function notifyOfEvent(
  afterCommit: AfterCommit,
  what: JobEvent["what"],
  { id, job_type, status }: Pick<JobRow, "id" | "job_type" | "status">,
  by?: string,
): void {
  afterCommit.push((wakeups) => wakeups.notify("job_event", { what, id, job_type, status, by }));
}

const startsNow = (before: JobRow, job: JobRow): boolean =>
  before.started_at === null && job.started_at !== null && !hasEnded(before);

function eventsOf(before: JobRow, job: JobRow): JobEvent["what"][] {
  const isLate = hasEnded(before) && job.status !== before.status;
  return [
    ...(startsNow(before, job) ? (["started"] as const) : []),
    ...(hasEnded(job) && !hasEnded(before) ? (["ended"] as const) : []),
    ...(isLate ? (["reported late"] as const) : []),
    ...(job.status === "QUEUED" ? (["queued again"] as const) : []),
  ];
}

/** When a spec becomes free, its next job may be claimed. */
export async function notifyNextOfSpec(
  tx: Queries,
  afterCommit: AfterCommit,
  spec: string,
): Promise<void> {
  const next = await tx.first(findNextOfSpec, { spec });
  if (next) afterCommit.push((wakeups) => wakeups.notify("queue", hintOf(next)));
}

/** After a change of what queued jobs wait for. Wakes claims for those that may run now. */
export async function refreshQueue(
  tx: Queries,
  afterCommit: AfterCommit,
  { id: spec, owner_id: owner }: Pick<SpecRow, "id" | "owner_id">,
  now: number,
): Promise<void> {
  await notifyRefreshed(tx, afterCommit, await tx.all(refreshUnapproved, { spec, owner }), now);
}

/** Refreshes the queue after a change of a member's role. */
export async function refreshQueueOfVoter(
  tx: Queries,
  afterCommit: AfterCommit,
  of: { readonly owner: string; readonly user: string },
  now: number,
): Promise<void> {
  await notifyRefreshed(tx, afterCommit, await tx.all(refreshVotedOn, of), now);
}

async function notifyRefreshed(
  tx: Queries,
  afterCommit: AfterCommit,
  jobs: readonly RefreshedJob[],
  now: number,
): Promise<void> {
  for (const job of jobs) {
    if (job.unapproved === 1) await recordApprovalNeeded(tx, job.id, now);
    else afterCommit.push((wakeups) => wakeups.notify("queue", hintOf(job)));
    afterCommit.push((wakeups) => wakeups.notify("job", job.id));
  }
}

/** What decides which waiting worker may claim a queued job. */
export const hintOf = (
  job: Pick<JobRow, "owner_id" | "assigned_worker_id" | "job_type" | "labels" | "features">,
): QueuedHint => {
  const { owner_id, assigned_worker_id, job_type, labels, features } = withLists(job);
  return { owner_id, assigned_worker_id, job_type, labels, features };
};

/**
 * Whether the spec shows something else of the job's end. A late report may bring another reason, or
 * outputs, with the same status. What a cancelled job has changed is known once its terraform has
 * ended, or its runner has come back.
 */
const endDiffers = (before: JobRow, job: JobRow): boolean =>
  job.status !== before.status ||
  job.error_message !== before.error_message ||
  (job.status === "CANCELLED"
    ? job.released_at !== before.released_at || job.outcome_unknown !== before.outcome_unknown
    : job.execution_metadata !== before.execution_metadata);
