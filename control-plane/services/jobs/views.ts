import { setImmediate } from "node:timers/promises";
import type { JobFailure } from "../../../protocol/job-failure.ts";
import type { ConfigSnapshot } from "../../../protocol/configurations.ts";
import type { Change } from "../../../protocol/follow.ts";
import type { ExecutionMetadata, Job } from "../../../protocol/jobs.ts";
import type { PlanCounts } from "../../../protocol/plan-counts.ts";
import type { ReviewedPlan } from "../../../protocol/reviewed-plan.ts";
import { hasDebug, type JobRow } from "../../domain/job.ts";
import { time, timeOrNull } from "../../domain/moments.ts";
import { mask } from "../../domain/snapshot.ts";
import type { StoredSnapshot } from "../../domain/snapshot-values.ts";
import { notFound } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findDebugLog } from "../../store/storage/job-files.ts";
import type { JobSummaryRow } from "../../store/jobs/lists.ts";
import { findJob, findViewed, type ViewedRow } from "../../store/jobs/jobs.ts";
import { findPlanCounts } from "../../store/jobs/runs.ts";
import { findLiveSpec } from "../../store/configurations/configurations.ts";
import { findReview, withDifferences, type PlannedChange } from "../approvals/review.ts";
import { findStaleness } from "../approvals/staleness.ts";
import { findApprovalNeed, viewApprovals } from "../approvals/views.ts";
import { findCandidates, findWaiting, viewWaiting } from "../claims/waiting-reason.ts";
import type { Context } from "../context.ts";
import { scheduleOf } from "./creator.ts";
import { logComplete } from "../logs/progress.ts";
import { findApplyProgress } from "../logs/resources.ts";
import { reading, wholeText } from "../definitions.ts";
import { Drafts } from "../large-work.ts";

export interface JobViewOptions {
  /** False for lists and runners' reports: progress is read from the log, maybe from an archive. */
  readonly progress?: boolean;
  /** Whether it is compared with the reviewed plan, which reads both; as `progress`. */
  readonly review?: boolean;
  /** For a list, which hashes a definition once: one of megabytes takes 25 ms to open and hash. */
  readonly drafts?: Drafts;
}

/** Returns a job of any owner, by its id or its row: the caller has checked access. */
export async function viewJob(
  context: Context,
  idOrRow: string | JobRow,
  { progress = true, review: isCompared = progress, drafts = new Drafts() }: JobViewOptions = {},
): Promise<Job> {
  const { read } = context.store;
  const row = typeof idOrRow === "string" ? await read.first(findJob, { id: idOrRow }) : idOrRow;
  if (!row) throw notFound("job");
  const { review, ...job } = await viewStored(context, row);
  const { approval_need: need } = job;
  if (need) {
    await setImmediate();
    need.plan_staleness = (await findStaleness(context, row, drafts)) ?? null;
  }
  const reviewed_plan = isCompared && review ? await viewReview(read, review) : null;
  return {
    ...job,
    ...(isCompared ? { reviewed_plan } : {}),
    ...(progress ? await findApplyProgress(context, job) : {}),
  };
}

async function viewReview(read: Queries, plan: PlannedChange): Promise<ReviewedPlan | null> {
  const review = await findReview(read, plan);
  return review ? withDifferences(read, plan.job_id, review) : null;
}

/** `review`: the plan to compare with the reviewed one. */
async function viewStored(
  context: Context,
  row: JobRow,
): Promise<Job & { readonly review?: PlannedChange }> {
  const { read } = context.store;
  const found = await read.first(findViewed, { id: row.id });
  if (!found) return viewWithSnapshot(context, { ...row, config_snapshot: null });
  const job = await reading(row.owner_id, found.config_snapshot, async () => {
    const config_snapshot = await wholeText(read, found.config_snapshot);
    return viewWithSnapshot(context, { ...row, config_snapshot });
  });
  const { merged_request_id, settings_hash } = found;
  if (merged_request_id === null || settings_hash === null) return { ...job, ...viewChange(found) };
  const planned = { job_id: row.plan_job_id ?? row.id, spec_id: row.spec_id };
  const review = { ...planned, merged_request_id, settings_hash };
  return { ...job, ...viewChange(found), review };
}

async function viewWithSnapshot(
  context: Context,
  job: JobRow & { config_snapshot: string | null },
): Promise<Job> {
  const queries = context.store.read;
  const configuration = await findConfigurationId(queries, job.spec_id);
  const {
    own_source = false,
    plan_options = null,
    own_fields: _fields,
    deployed_of,
    set_variables: _names,
    resumes_teardown: _resumes,
    ...snapshot
  } = JSON.parse(job.config_snapshot ?? "{}") as StoredSnapshot;
  const counts = await queries.first(findPlanCounts, { job: job.plan_job_id ?? job.id });
  const debug = hasDebug(job);
  const debugLog = debug ? await queries.first(findDebugLog, { job: job.id }) : undefined;
  return {
    id: job.id,
    job_type: job.job_type,
    status: job.status,
    configuration_id: configuration,
    configuration_name: snapshot.name ?? null,
    spec_id: configuration,
    zone_id: job.zone_id,
    cloud_identity_id: job.cloud_identity_id,
    assigned_worker_id: job.assigned_worker_id,
    worker_id: job.worker_id,
    plan_job_id: job.plan_job_id,
    labels: JSON.parse(job.labels) as string[],
    config_hash: job.config_hash,
    config_snapshot: job.config_snapshot === null ? null : mask(snapshot as ConfigSnapshot),
    execution_metadata:
      job.execution_metadata === null
        ? null
        : (JSON.parse(job.execution_metadata) as ExecutionMetadata),
    created_by: job.created_by,
    schedule: scheduleOf(job),
    approvals: await viewApprovals(queries, job.id),
    approval_need: await findApprovalNeed(queries, job),
    changes: countsOf(counts?.counts ?? null),
    failed_checks: job.failed_checks,
    error_message: job.error_message,
    failure: job.failure === null ? null : (JSON.parse(job.failure) as JobFailure),
    cancelled_by: cancelOf(job)?.by ?? null,
    ...(await viewWaiting(context, queries, job)),
    attempt: job.attempt,
    timeout_seconds: job.timeout_seconds,
    presumed_lost_at: timeOrNull(job.presumed_lost_at),
    outcome_unknown: job.outcome_unknown === 1,
    log_complete: await logComplete(queries, job),
    log_pruned_at: timeOrNull(job.log_pruned_at),
    own_source,
    deployed: deployed_of !== undefined,
    plan_options,
    debug,
    debug_log_bytes: debugLog?.size_bytes ?? null,
    created_at: time(job.created_at),
    claimed_at: timeOrNull(job.claimed_at),
    started_at: timeOrNull(job.started_at),
    ended_at: timeOrNull(job.ended_at),
    released_at: timeOrNull(job.released_at),
  };
}

function viewChange({ withheld, ...row }: ViewedRow) {
  if (row.change === null) return noChange;
  return { ...changeOf(row), withheld: JSON.parse(withheld ?? "[]") as string[] };
}

const noChange = { change: null, change_state: null };

function changeOf({
  change,
  posted_status,
  post_error,
  post_at,
}: Pick<ViewedRow, "change" | "posted_status" | "post_error" | "post_at">) {
  const shown = posted_status !== null && post_at === null ? "posted" : "pending";
  return {
    change: JSON.parse(change ?? "null") as Change | null,
    change_state: post_error === null ? shown : { error: post_error },
  } as const;
}

/** Null after it was deleted, even while jobs still refer to it. */
export async function findConfigurationId(
  queries: Queries,
  spec: string | null,
): Promise<string | null> {
  if (spec === null) return null;
  return (await queries.first(findLiveSpec, { id: spec }))?.id ?? null;
}

export type JobSummary = Pick<
  Job,
  | "id"
  | "job_type"
  | "status"
  | "configuration_id"
  | "worker_id"
  | "created_by"
  | "change"
  | "change_state"
  | "changes"
  | "failed_checks"
  | "error_message"
  | "waiting_reason"
  | "waiting_details"
  | "created_at"
  | "started_at"
  | "ended_at"
> & {
  /** Whether it plans, or applies a plan, to destroy everything. */
  readonly destroy: boolean;
  /** The name that the configuration had when the job was created. */
  readonly name: string | null;
  readonly cancel: Cancel | null;
  /** Whether people must approve it before a runner may claim it. */
  readonly needs_approval: boolean;
  /** Whether it only waits for jobs of classes that go first. */
  readonly is_behind: boolean;
};

/** When a user cancelled a job, and who it was, if that is known. */
export interface Cancel {
  readonly at: string;
  readonly by: string | null;
}

/** Returns null unless the job was cancelled by a user. */
export function cancelOf({
  status,
  cancelled_at: at,
  cancelled_by: by,
}: Pick<JobRow, "status" | "cancelled_at" | "cancelled_by">): Cancel | null {
  return status === "CANCELLED" && at !== null ? { at: time(at), by } : null;
}

export async function viewSummaries(
  context: Context,
  jobs: readonly JobSummaryRow[],
): Promise<JobSummary[]> {
  const queries = context.store.read;
  const queued = jobs.find(({ status }) => status === "QUEUED");
  const workers = queued && (await findCandidates(queries, queued.owner_id));
  return Promise.all(
    jobs.map(async (job) => ({
      id: job.id,
      job_type: job.job_type,
      destroy: job.destroys === 1,
      status: job.status,
      configuration_id: job.configuration_id,
      worker_id: job.worker_id,
      name: job.name,
      created_by: job.created_by,
      ...(job.change === null ? noChange : changeOf(JSON.parse(job.change) as ViewedRow)),
      changes: countsOf(job.changes),
      failed_checks: job.failed_checks,
      error_message: job.error_message,
      ...(await findWaiting(context, queries, job, workers)),
      cancel: cancelOf(job),
      needs_approval: job.status === "QUEUED" && job.unapproved === 1 && job.plan_job_id !== null,
      created_at: time(job.created_at),
      started_at: timeOrNull(job.started_at),
      ended_at: timeOrNull(job.ended_at),
    })),
  );
}

export const countsOf = (json: string | null): PlanCounts | null =>
  json === null ? null : (JSON.parse(json) as PlanCounts);
