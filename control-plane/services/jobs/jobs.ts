import { v7 as uuid } from "uuid";
import type { Query } from "../../../protocol/endpoint.ts";
import type { Endpoints } from "../../../protocol/endpoints.ts";
import type { CreateJob, Job } from "../../../protocol/jobs.ts";
import { destroysAll } from "../../../protocol/words.ts";
import { nameOf, type UserCaller } from "../callers.ts";
import { cancel, newlyQueued, type JobRow } from "../../domain/job.ts";
import { momentOf } from "../../domain/moments.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { checkPermission, mayDo, permissionForJob } from "../../domain/roles.ts";
import {
  countOpenJobs as countOpenRows,
  findJobIds as findRowIds,
  findJobPage as findRowPage,
  isCreator,
  listJobSummaries as listSummaryRows,
  type JobFilter,
  type JobPage,
} from "../../store/jobs/lists.ts";
import type { Queries } from "../../store/db.ts";
import { findOwnJob, insertJob } from "../../store/jobs/jobs.ts";
import { requirePlan, findDestructive } from "../approvals/approvals.ts";
import { person, recordOwn } from "../audit/audit.ts";
import { findNamed } from "../configurations/configurations.ts";
import type { Context } from "../context.ts";
import { makeHashKey } from "../configurations/config-hash.ts";
import { writingOf, type Writing } from "../definitions.ts";
import { ChangedMeanwhileError, Drafts, inTurn, untilUnchanged } from "../large-work.ts";
import {
  changeJob,
  hintOf,
  refreshQueue,
  notifyOfEvent,
  writeJobs,
  type AfterCommit,
} from "../job-changes/changes.ts";
import { checkJobPermission } from "../job-changes/own-source.ts";
import { labelsFor } from "../plans/deployable.ts";
import { measureRequest, resolveRequest, type Resolved } from "./request.ts";
import { checkCount, checkStateBytes, countRefusal } from "../storage/quotas.ts";
import {
  cancelOf,
  viewJob,
  viewSummaries,
  type Cancel,
  type JobSummary,
  type JobViewOptions,
} from "./views.ts";
import { drainTarget, refuseOtherTeardown } from "../workers/teardown.ts";

/** The job whose request is repeated, and whether it may have destroyed some of its targets. */
interface Retry {
  readonly of: string;
  readonly resumesTeardown: boolean;
}

interface JobRequest {
  readonly id: string;
  readonly user: UserCaller;
  readonly input: CreateJob;
  readonly retry: Retry | undefined;
}

export async function createJob(
  context: Context,
  user: UserCaller,
  input: CreateJob,
  retry?: Retry,
): Promise<Job> {
  checkPermission(user, permissionForJob(input.job_type, input.source !== undefined));
  const { space_id: owner } = user;
  const request = { id: uuid(), user, input, retry };
  const bytes = await measureRequest(context.store.read, owner, input);
  const created = inTurn(owner, bytes, () => untilUnchanged(() => draftAndAdd(context, request)));
  await countRefusal(context, created);
  return viewJob(context, request.id);
}

/** Makes what takes long before the transaction that adds the job. */
async function draftAndAdd(context: Context, request: JobRequest): Promise<void> {
  const { id, user, input, retry } = request;
  const { read } = context.store;
  const drafts = new Drafts();
  const mode = { ...retry, drafts, isReader: true };
  const { spec, sealed } = await resolveRequest(context, read, user.space_id, id, input, mode);
  requirePlan(spec, input);
  // If the store had no key yet, this draft was hashed with another one.
  if (await makeHashKey(context)) throw new ChangedMeanwhileError();
  await writingOf(context, id, sealed, (writing) =>
    writeJobs(context, (tx, afterCommit) =>
      addJob(context, tx, afterCommit, request, { drafts: drafts.readOnly(), writing }),
    ),
  );
}

async function addJob(
  context: Context,
  tx: Queries,
  afterCommit: AfterCommit,
  { id, user, input, retry }: JobRequest,
  { drafts, writing }: { readonly drafts: Drafts; readonly writing: Writing },
): Promise<void> {
  const { space_id: owner } = user;
  const request = await resolveRequest(context, tx, owner, id, input, { ...retry, drafts });
  requirePlan(request.spec, input);
  if (retry && request.scope)
    await refuseOtherTeardown(tx, retry.of, { ...request, scope: request.scope });
  await checkCount(context, tx, owner, "queuedJobs");
  if (input.job_type === "DEPLOY") await checkStateBytes(context, tx, owner);
  const destructive = await findDestructive(tx, input);
  const job = { ...newJob(context, id, user, input, request), destructive };
  if (input.job_type === "DESTROY_WORKER" && job.assigned_worker_id !== null) {
    const target = job.assigned_worker_id;
    await drainTarget(tx, target, { by: person(user), owner, job: id }, context.now());
    afterCommit.push((wakeups) => wakeups.notify("worker", target));
  }
  const { definition: config_snapshot, definition_id } = writing;
  await insertJob(tx, job, { config_snapshot, definition_id });
  if (request.spec && request.spec.approval_when !== null)
    await refreshQueue(tx, afterCommit, request.spec);
  const { spec_id: configuration_id, plan_job_id } = job;
  const details = {
    configuration_id,
    ...(plan_job_id === null ? {} : { plan_job_id }),
    ...(retry ? { retry_of: retry.of } : {}),
  };
  const action = retry ? "job.retry" : "job.create";
  await recordOwn(tx, user, { action, id, name: job.job_type, details }, job.created_at);
  afterCommit.push((wakeups) => wakeups.notify("queue", hintOf(job)));
  notifyOfEvent(afterCommit, "queued", job, nameOf(user));
}

export async function findPlanRefusal(
  context: Context,
  { space_id: owner }: UserCaller,
  { id, spec_id: configuration_id }: JobRow,
): Promise<RefusalError | null> {
  if (configuration_id === null) return notFound("configuration any more");
  const request = { job_type: "DEPLOY", configuration_id, plan_job_id: id } as const;
  const { read } = context.store;
  try {
    await inTurn(owner, await measureRequest(read, owner, request), () =>
      untilUnchanged(() => resolveRequest(context, read, owner, id, request, { isReader: true })),
    );
    return null;
  } catch (error) {
    if (error instanceof RefusalError) return error;
    throw error;
  }
}

export async function getJob(
  context: Context,
  { space_id: owner }: UserCaller,
  id: string,
  options?: JobViewOptions,
): Promise<Job> {
  const job = await context.store.read.first(findOwnJob, { id, owner });
  if (!job) throw notFound("job");
  return viewJob(context, job, options);
}

export async function findJobCancel(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<Cancel | null> {
  const job = await read.first(findOwnJob, { id, owner });
  return job ? cancelOf(job) : null;
}

export async function findJobIds(
  { store: { read } }: Context,
  user: UserCaller,
  query: Query<Endpoints["listJobs"]>,
  page: Pick<JobFilter, "before" | "limit">,
): Promise<{ items: string[]; next: string | undefined }> {
  const { status, zone_id, configuration, job_type, mine, waiting_for_me, id_prefix } = query;
  const { space_id: owner } = user;
  if (waiting_for_me && !mayDo(user, "approve")) return { items: [], next: undefined };
  const { jobs, next } = await findRowIds(read, {
    owner,
    status,
    zone: zone_id,
    configuration: configuration && (await findNamed(read, owner, configuration)).id,
    type: job_type,
    createdBy: mine ? nameOf(user) : undefined,
    approver: waiting_for_me ? user.user_id : undefined,
    since: momentOf("query.since", query.since),
    until: momentOf("query.until", query.until),
    prefix: id_prefix?.toLowerCase(),
    ...page,
  });
  return { items: jobs.map(({ id }) => id), next };
}

export const countOpenJobs = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  status: "QUEUED" | "PROCESSING",
  limit: number,
): Promise<number> => countOpenRows(read, { owner, status, limit });

export async function listJobSummaries(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  filter: Omit<JobFilter, "owner">,
): Promise<JobSummary[]> {
  return viewSummaries(read, await listSummaryRows(read, { owner, ...filter }));
}

/** `by`: the exact name of the creator, by an index, or a part of it. */
export async function findJobPage(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  {
    by,
    ...filter
  }: Omit<JobFilter, "owner" | "createdBy" | "creator"> & { by?: string | undefined },
): Promise<JobPage<JobSummary>> {
  const isWhole = by !== undefined && (await isCreator(read, owner, by));
  const creator = isWhole ? { createdBy: by } : { creator: by };
  const page = await findRowPage(read, { owner, ...creator, ...filter });
  return { ...page, jobs: await viewSummaries(read, page.jobs) };
}

export async function cancelJob(context: Context, user: UserCaller, id: string): Promise<Job> {
  const { space_id: owner } = user;
  await writeJobs(context, async (tx, afterCommit) => {
    const now = context.now();
    const job = await tx.first(findOwnJob, { id, owner });
    if (!job) throw notFound("job");
    await checkJobPermission(tx, user, job);
    const by = nameOf(user);
    await changeJob(tx, afterCommit, job, cancel(job, by, now), now, { by });
    const details = { status_before: job.status };
    const target = { id: job.id, name: job.job_type, details };
    await recordOwn(tx, user, { action: "job.cancel", ...target }, now);
  });
  return viewJob(context, id);
}

function newJob(
  { now }: Context,
  id: string,
  user: UserCaller,
  input: CreateJob,
  { spec, hash, features, options, timeoutSeconds }: Resolved,
): JobRow {
  return {
    ...newlyQueued,
    id,
    owner_id: user.space_id,
    job_type: input.job_type,
    spec_id: spec?.id ?? null,
    zone_id: spec?.zone_id ?? null,
    cloud_identity_id: spec?.cloud_identity_id ?? null,
    assigned_worker_id: input.assigned_worker_id ?? null,
    plan_job_id: input.plan_job_id ?? null,
    destroys: destroysAll(options) ? 1 : 0,
    labels: labelsFor(input, spec),
    features: JSON.stringify(features),
    config_hash: hash,
    timeout_seconds: timeoutSeconds,
    created_by: nameOf(user),
    creator_id: user.user_id,
    created_at: now(),
  };
}
