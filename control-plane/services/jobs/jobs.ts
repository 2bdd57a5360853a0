import { v7 as uuid } from "uuid";
import type { Query } from "../../../protocol/endpoint.ts";
import type { Endpoints } from "../../../protocol/endpoints.ts";
import type { CreateJob, Job } from "../../../protocol/jobs.ts";
import { nameOf, type UserCaller } from "../callers.ts";
import { cancel, type JobRow } from "../../domain/job.ts";
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
import { findOwnJob } from "../../store/jobs/jobs.ts";
import { filterSeenSpecs } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { isLimited } from "../../store/spaces.ts";
import { person, recordOwn } from "../audit/audit.ts";
import { findNamed } from "../configurations/configurations.ts";
import type { Context } from "../context.ts";
import { inTurn, untilUnchanged } from "../large-work.ts";
import { changeJob, writeJobs } from "../job-changes/changes.ts";
import { checkedIn, zonesWith } from "../teams/spaces.ts";
import { checkJobPermission } from "../job-changes/own-source.ts";
import { addOne, type Retry } from "./create.ts";
import { creatorOf, type JobOrigin } from "./creator.ts";
import { measureRequest, resolveRequest } from "./request.ts";
import {
  cancelOf,
  viewJob,
  viewSummaries,
  type Cancel,
  type JobSummary,
  type JobViewOptions,
} from "./views.ts";

export async function createJob(
  context: Context,
  user: UserCaller,
  input: CreateJob,
  retry?: Retry,
  origin?: JobOrigin,
): Promise<Job> {
  const permission = permissionForJob(input.job_type, input.source !== undefined);
  checkPermission(user, permission);
  // A retry and a page name an older job, whose configuration may be in another zone now.
  const named = { kind: "configurations", id: input.configuration_id ?? "" };
  if (named.id !== "") await checkedIn(context.store, user, named, permission);
  const id = uuid();
  await addOne(context, { id, by: creatorOf(user), input, retry, origin });
  return viewJob(context, id);
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
    configuration: configuration && (await findSeenId(read, owner, configuration)),
    type: job_type,
    createdBy: mine ? nameOf(user) : undefined,
    approver: waiting_for_me ? user.user_id : undefined,
    approvable: waiting_for_me ? zonesWith(user, "approve") : undefined,
    since: momentOf("query.since", query.since),
    until: momentOf("query.until", query.until),
    prefix: id_prefix?.toLowerCase(),
    ...page,
  });
  return { items: jobs.map(({ id }) => id), next };
}

/** The id of one that narrows a list. Throws 404 also for one that the caller does not see. */
async function findSeenId(queries: Queries, owner: string, name: string): Promise<string> {
  const { id } = await findNamed(queries, owner, name);
  if (isLimited(owner) && !(await filterSeenSpecs(queries, owner, [id])).has(id))
    throw notFound("configuration");
  return id;
}

export const countOpenJobs = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  status: "QUEUED" | "PROCESSING",
  limit: number,
): Promise<number> => countOpenRows(read, { owner, status, limit });

export async function listJobSummaries(
  context: Context,
  { space_id: owner }: UserCaller,
  filter: Omit<JobFilter, "owner">,
): Promise<JobSummary[]> {
  return viewSummaries(context, await listSummaryRows(context.store.read, { owner, ...filter }));
}

/** `by`: the exact name of the creator, by an index, or a part of it. */
export async function findJobPage(
  context: Context,
  { space_id: owner }: UserCaller,
  {
    by,
    ...filter
  }: Omit<JobFilter, "owner" | "createdBy" | "creator"> & { by?: string | undefined },
): Promise<JobPage<JobSummary>> {
  const { read } = context.store;
  const isWhole = by !== undefined && (await isCreator(read, owner, by));
  const creator = isWhole ? { createdBy: by } : { creator: by };
  const page = await findRowPage(read, { owner, ...creator, ...filter });
  return { ...page, jobs: await viewSummaries(context, page.jobs) };
}

export async function cancelJob(context: Context, user: UserCaller, id: string): Promise<Job> {
  const { space_id: owner } = user;
  await writeJobs(context, async (tx, afterCommit) => {
    const now = context.now();
    const job = await tx.first(findOwnJob, { id, owner });
    if (!job) throw notFound("job");
    await checkJobPermission(tx, user, job);
    const options = { by: person(user) };
    await changeJob(tx, afterCommit, job, cancel(job, nameOf(user), now), now, options);
    const details = { status_before: job.status };
    const target = { id: job.id, name: job.job_type, details };
    await recordOwn(tx, user, { action: "job.cancel", ...target }, now);
  });
  return viewJob(context, id);
}
