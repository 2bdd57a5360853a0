/** Adds jobs with what they need, prepared before the transaction. */
import type { CreateJob } from "../../../protocol/jobs.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import { destroysAll } from "../../../protocol/words.ts";
import { newlyQueued, type JobRow } from "../../domain/job.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { findChange, insertChange, markPullRequest } from "../../store/connections/job-changes.ts";
import type { Queries } from "../../store/db.ts";
import { insertJob } from "../../store/jobs/jobs.ts";
import { requirePlan, findDestructive } from "../approvals/approvals.ts";
import { findApprovedPlan, findReview } from "../approvals/review.ts";
import { record } from "../audit/audit.ts";
import { makeHashKey } from "../configurations/config-hash.ts";
import type { Context } from "../context.ts";
import { writingOf, type SealedText, type Writing } from "../definitions.ts";
import {
  hintOf,
  notifyOfEvent,
  refreshQueue,
  writeJobs,
  type AfterCommit,
} from "../job-changes/changes.ts";
import { recordJobEvent } from "../job-changes/job-events.ts";
import { ChangedMeanwhileError, Drafts, inTurn, untilUnchanged } from "../large-work.ts";
import { labelsFor } from "../plans/deployable.ts";
import { checkCount, checkStateBytes, countRefusal } from "../storage/quotas.ts";
import { drainTarget, refuseOtherTeardown } from "../workers/teardown.ts";
import type { Creator, JobOrigin } from "./creator.ts";
import { measureRequest, resolveRequest, type Resolved } from "./request.ts";

/** The job whose request is repeated, and whether it may have destroyed some of its targets. */
export interface Retry {
  readonly of: string;
  readonly resumesTeardown: boolean;
}

export interface JobRequest {
  readonly id: string;
  readonly by: Creator;
  readonly input: CreateJob;
  readonly retry?: Retry | undefined;
  readonly origin?: JobOrigin | undefined;
}

/** Adds a job. Throws if it is refused. */
export async function addOne(context: Context, request: JobRequest): Promise<void> {
  const { space_id: owner } = request.by;
  const bytes = await measureRequest(context.store.read, owner, request.input);
  const add = () =>
    draftAndAdd(context, [request], (tx, afterCommit, [draft]) =>
      addJob(context, tx, afterCommit, request, draft!),
    );
  await countRefusal(
    context,
    inTurn(owner, bytes, () => untilUnchanged(add)),
  );
}

/** The refusal of one of several jobs. */
export interface Refused extends Pick<RefusalError, "code" | "message"> {
  readonly spec: string;
}

/**
 * Adds jobs of one space in one transaction, after `before` in it, which returns the configurations
 * that are left out, or undefined to add none. Returns the refusal of a job: then nothing is changed.
 */
export async function queueJobs(
  context: Context,
  owner: string,
  requests: readonly JobRequest[],
  before: (tx: Queries, afterCommit: AfterCommit) => Promise<ReadonlySet<string> | undefined>,
): Promise<Refused | undefined> {
  let current = "";
  const add = () =>
    draftAndAdd(
      context,
      requests,
      async (tx, afterCommit, drafts) => {
        const left = await before(tx, afterCommit);
        if (!left) return;
        for (const [index, request] of requests.entries()) {
          current = request.input.configuration_id ?? "";
          if (!left.has(current)) await addJob(context, tx, afterCommit, request, drafts[index]!);
        }
      },
      (request) => (current = request.input.configuration_id ?? ""),
    );
  let bytes = 0;
  for (const { input } of requests) bytes += await measureRequest(context.store.read, owner, input);
  try {
    await countRefusal(
      context,
      inTurn(owner, bytes, () => untilUnchanged(add), Infinity),
    );
    return undefined;
  } catch (error) {
    if (!(error instanceof RefusalError) || current === "") throw error;
    return { code: error.code, message: error.message, spec: current };
  }
}

interface Prepared {
  readonly drafts: Drafts;
  readonly writing: Writing;
}

/** Makes what takes long before the transaction that adds the jobs. */
async function draftAndAdd(
  context: Context,
  requests: readonly JobRequest[],
  add: (tx: Queries, afterCommit: AfterCommit, prepared: readonly Prepared[]) => Promise<void>,
  onDraft?: (request: JobRequest) => void,
): Promise<void> {
  const { read } = context.store;
  const made: { id: string; drafts: Drafts; sealed: SealedText }[] = [];
  for (const request of requests) {
    onDraft?.(request);
    const { id, by, input, retry, origin } = request;
    const drafts = new Drafts();
    const mode = { ...retry, origin, drafts, isReader: true };
    const { spec, sealed } = await resolveRequest(context, read, by.space_id, id, input, mode);
    requirePlan(spec, input);
    made.push({ id, drafts: drafts.readOnly(), sealed });
  }
  // If the store had no key yet, the drafts were hashed with another one.
  if (requests.length > 0 && (await makeHashKey(context))) throw new ChangedMeanwhileError();
  const written = async (prepared: readonly Prepared[]): Promise<void> => {
    const next = made[prepared.length];
    if (!next) return writeJobs(context, (tx, afterCommit) => add(tx, afterCommit, prepared));
    const { id, drafts, sealed } = next;
    return writingOf(context, id, sealed, (writing) => written([...prepared, { drafts, writing }]));
  };
  await written([]);
}

async function addJob(
  context: Context,
  tx: Queries,
  afterCommit: AfterCommit,
  { id, by, input, retry, origin }: JobRequest,
  { drafts, writing }: Prepared,
): Promise<void> {
  const { space_id: owner } = by;
  const mode = { ...retry, origin, drafts };
  const request = await resolveRequest(context, tx, owner, id, input, mode);
  requirePlan(request.spec, input);
  if (retry && request.scope)
    await refuseOtherTeardown(tx, retry.of, { ...request, scope: request.scope });
  await checkCount(context, tx, owner, "queuedJobs");
  if (input.job_type === "DEPLOY") await checkStateBytes(context, tx, owner);
  const destructive = await findDestructive(tx, input);
  const job = { ...newJob(context, id, by, input, request), destructive };
  if (input.job_type === "DESTROY_WORKER" && job.assigned_worker_id !== null) {
    const target = job.assigned_worker_id;
    await drainTarget(tx, target, { by: by.actor, owner, job: id }, context.now());
    afterCommit.push((wakeups) => wakeups.notify("worker", target));
  }
  const { definition: config_snapshot, definition_id } = writing;
  await insertJob(tx, job, { config_snapshot, definition_id });
  await recordJobEvent(tx, job.created_at, "job.queued", job, { by: by.actor });
  const needsApproval = await addChange(tx, job, request, origin);
  if (request.spec && (needsApproval || request.spec.approval_when !== null))
    await refreshQueue(tx, afterCommit, request.spec, job.created_at);
  const { spec_id: configuration_id, plan_job_id } = job;
  const details = {
    configuration_id,
    ...(plan_job_id === null ? {} : { plan_job_id }),
    ...(retry ? { retry_of: retry.of } : {}),
  };
  const action = retry ? "job.retry" : "job.create";
  const entry = { by: by.actor, owner, action, id, name: job.job_type, details } as const;
  await record(tx, entry, job.created_at);
  afterCommit.push((wakeups) => wakeups.notify("queue", hintOf(job)));
  notifyOfEvent(afterCommit, "queued", job, by.name);
}

/**
 * A DEPLOY runs the change of its plan. Returns whether it needs an approval without a rule too,
 * because a connection deploys another plan than the one that was reviewed.
 */
async function addChange(
  tx: Queries,
  { id: job_id, spec_id, plan_job_id, creator_id, created_at: now }: JobRow,
  { withheld, settingsHash }: Resolved,
  origin: JobOrigin | undefined,
): Promise<boolean> {
  const planned =
    plan_job_id === null ? undefined : await tx.first(findChange, { job: plan_job_id });
  const review = planned && (await findReview(tx, planned));
  const fields = origin
    ? {
        connection_id: origin.connection_id,
        pull_request_id: origin.pull_request_id,
        merged_request_id: origin.merged_request_id,
        commit_id: origin.change.commit,
        change: JSON.stringify(origin.change),
        withheld: JSON.stringify(withheld),
        settings_hash: settingsHash,
      }
    : planned;
  if (!fields) return false;
  const needsApproval = review?.equal === false && creator_id === null;
  await insertChange(tx, {
    ...fields,
    job_id,
    spec_id,
    approved_job_id: planned ? await findApprovedPlan(tx, planned, review) : null,
    needs_approval: needsApproval ? 1 : 0,
    posted_status: null,
    post_error: null,
    post_at: now,
  });
  for (const id of [fields.pull_request_id, fields.merged_request_id])
    if (id !== null) await tx.run(markPullRequest, { id, now });
  return needsApproval;
}

function newJob(
  { now }: Context,
  id: string,
  by: Creator,
  input: CreateJob,
  { spec, hash, features, options, timeoutSeconds, identity }: Resolved,
): JobRow {
  return {
    ...newlyQueued,
    id,
    owner_id: by.space_id,
    job_type: input.job_type,
    spec_id: spec?.id ?? null,
    zone_id: spec?.zone_id ?? null,
    cloud_identity_id: identity,
    assigned_worker_id: input.assigned_worker_id ?? null,
    plan_job_id: input.plan_job_id ?? null,
    destroys: destroysAll(options) ? 1 : 0,
    drift_check: isDriftCheck(input, options) ? 1 : 0,
    labels: labelsFor(input, spec),
    features: JSON.stringify(features),
    config_hash: hash,
    timeout_seconds: timeoutSeconds,
    created_by: by.name,
    creator_id: by.user_id,
    schedule_id: by.schedule_id ?? null,
    queue_class: by.queue_class,
    created_at: now(),
  };
}

/** With other options, the plan says nothing of some resources. */
const isDriftCheck = ({ job_type, deployed }: CreateJob, options?: PlanOptions): boolean =>
  job_type === "PLAN" &&
  deployed === true &&
  options?.refresh_only === true &&
  options.targets.length + (options.exclude?.length ?? 0) === 0;
