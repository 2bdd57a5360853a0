/** Jobs for users: create, list, read, cancel. */
import { v7 as uuid } from "uuid";
import { timeoutSecondsDefault, type ConfigSnapshot } from "../../../protocol/configurations.ts";
import { featuresOf } from "../../../protocol/features.ts";
import type { CreateJob, Job } from "../../../protocol/jobs.ts";
import type { UserCaller } from "../callers.ts";
import { cancel, newlyQueued, type JobRow } from "../../domain/job.ts";
import {
  configHash,
  seal,
  unseal,
  updatedDefinition,
  type Definition,
} from "../../domain/snapshot.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { findArtifact } from "../../store/plans/artifacts.ts";
import type { Queries } from "../../store/db.ts";
import {
  countOpenJobs as countOpenRows,
  listJobIds as listRowIds,
  listJobSummaries as listSummaryRows,
  type JobFilter,
} from "../../store/jobs/lists.ts";
import { findOwnJob, findUseOfPlan, insertJob } from "../../store/jobs/jobs.ts";
import { findFact, restoredAt } from "../../store/facts.ts";
import { findSpec, type SpecRow } from "../../store/configurations/configurations.ts";
import { findState } from "../../store/states/states.ts";
import { findOwnWorker, findVisibleWorker } from "../../store/workers/workers.ts";
import { person, recordOwn } from "../audit/audit.ts";
import { hashKeyOf } from "../configurations/config-hash.ts";
import type { Context } from "../context.ts";
import { changeJob, hintOf, writeJobs } from "./changes.ts";
import { requestedSource } from "./own-source.ts";
import { checkQueuedJobs, checkStateBytes, countRefusal } from "../storage/quotas.ts";
import { readJobView, viewSummaries, type JobSummary } from "./views.ts";
import { findTeardown, type TeardownScope } from "../workers/deploy-configurations.ts";
import { drainTarget, refuseOtherTeardown } from "../workers/teardown.ts";

/** POST /api/jobs. `retryOf`: the job whose request is repeated. */
export async function createJob(
  context: Context,
  user: UserCaller,
  input: CreateJob,
  retryOf?: string,
): Promise<Job> {
  const { user_id: owner } = user;
  const by = person(user);
  const id = uuid();
  const created = writeJobs(context, async (tx, rings) => {
    const request = await resolveRequest(context, tx, owner, id, input);
    if (retryOf !== undefined && request.scope)
      await refuseOtherTeardown(tx, retryOf, { ...request, scope: request.scope });
    await checkQueuedJobs(context, tx, owner);
    if (input.job_type === "DEPLOY") await checkStateBytes(context, tx, owner);
    const job = newJob(context, id, owner, input, request);
    if (input.job_type === "DESTROY_WORKER" && job.assigned_worker_id !== null) {
      const target = job.assigned_worker_id;
      await drainTarget(tx, target, { by, owner, job: id }, context.now());
      rings.push((wakeups) => wakeups.ring("worker", target));
    }
    await insertJob(tx, job, request.sealed);
    const { spec_id: configuration_id, plan_job_id } = job;
    const details = {
      configuration_id,
      ...(plan_job_id === null ? {} : { plan_job_id }),
      ...(retryOf === undefined ? {} : { retry_of: retryOf }),
    };
    const action = retryOf === undefined ? "job.create" : "job.retry";
    await recordOwn(tx, user, { action, id, name: job.job_type, details }, job.created_at);
    rings.push((wakeups) => wakeups.ring("queue", hintOf(job)));
  });
  await countRefusal(context, created);
  return readJobView(context, id);
}

/** GET /api/cli/jobs/{id}. */
export async function getJob(context: Context, { user_id }: UserCaller, id: string): Promise<Job> {
  if (!(await context.store.read.first(findOwnJob, { id, owner: user_id }))) throw notFound("job");
  return readJobView(context, id);
}

/** The ids of a page of GET /api/jobs. */
export const listJobIds = (
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  filter: Omit<JobFilter, "owner">,
): Promise<string[]> => listRowIds(read, { owner, ...filter });

/** Returns how many jobs of the user wait, or run; counts no further than `limit`. */
export const countOpenJobs = (
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  status: "QUEUED" | "PROCESSING",
  limit: number,
): Promise<number> => countOpenRows(read, { owner, status, limit });

/** Returns a page of an owner's jobs, without their details. */
export async function listJobSummaries(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  filter: Omit<JobFilter, "owner">,
): Promise<JobSummary[]> {
  return viewSummaries(read, await listSummaryRows(read, { owner, ...filter }));
}

/** POST /api/cli/jobs/{id}/cancel. */
export async function cancelJob(context: Context, user: UserCaller, id: string): Promise<Job> {
  const { user_id: owner } = user;
  await writeJobs(context, async (tx, rings) => {
    const now = context.now();
    const job = await tx.first(findOwnJob, { id, owner });
    if (!job) throw notFound("job");
    await changeJob(tx, rings, job, cancel(job, now), now);
    const details = { status_before: job.status };
    const target = { id: job.id, name: job.job_type, details };
    await recordOwn(tx, user, { action: "job.cancel", ...target }, now);
  });
  return readJobView(context, id);
}

/** The columns of the job that a request describes. */
interface Resolved {
  readonly spec: SpecRow | null;
  /** The snapshot as it is stored, JSON. */
  readonly sealed: string;
  readonly hash: string;
  /** What its runner must be able to do. */
  readonly features: readonly string[];
  readonly timeoutSeconds: number;
  /** Of a DESTROY_WORKER. */
  readonly scope?: TeardownScope;
}

async function resolveRequest(
  context: Context,
  tx: Queries,
  owner: string,
  id: string,
  input: CreateJob,
): Promise<Resolved> {
  const box = context.box("variables");
  const how = { key: await hashKeyOf(context, tx), debug: input.debug };
  if (input.job_type === "DESTROY_WORKER") {
    if (input.configuration_id !== undefined)
      throw invalid("body.configuration_id", "comes from the worker's deploy configuration");
    const target = input.assigned_worker_id;
    if (!target) throw invalid("body.assigned_worker_id", "must name the worker to tear down");
    const worker = await tx.first(findOwnWorker, { id: target, owner });
    if (!worker) throw notFound("worker");
    const { spec, snapshot, scope } = await findTeardown(context, tx, worker);
    const plain =
      snapshot ?? (await snapshotOf(tx, spec!, (definition) => unseal(definition, box, spec!.id)));
    return { ...resolved(spec, plain, seal(plain, box, id), how, scope), scope };
  }
  if (input.configuration_id === undefined) throw invalid("body.configuration_id", "is missing");
  const spec = await tx.first(findSpec, { id: input.configuration_id, owner });
  if (!spec) throw notFound("configuration");
  if (input.assigned_worker_id) await checkAssigned(tx, owner, input.assigned_worker_id);
  const source = await requestedSource(tx, owner, input);
  const own = await snapshotOf(tx, spec, (definition) => unseal(definition, box, spec.id));
  const plain = source ? updatedDefinition(own, { source }) : own;
  const mark = source ? { own_source: true } : {};
  const request = resolved(spec, plain, seal(plain, box, id), how, mark);
  if (input.plan_job_id) await checkPlan(tx, owner, input, request.hash);
  return request;
}

function resolved(
  spec: SpecRow | null,
  plain: ConfigSnapshot,
  sealed: ConfigSnapshot,
  { key, debug }: { readonly key: Uint8Array; readonly debug: boolean | undefined },
  more: object = {},
): Resolved {
  return {
    spec,
    sealed: JSON.stringify({ ...sealed, ...more }),
    hash: configHash(plain, key),
    features: featuresOf(plain, debug),
    timeoutSeconds: plain.timeout_seconds ?? timeoutSecondsDefault,
  };
}

async function snapshotOf(
  tx: Queries,
  { id, name, project_name, definition }: SpecRow,
  open: (definition: Definition) => Definition,
): Promise<ConfigSnapshot> {
  const { origin: _, ...fields } = open(JSON.parse(definition) as Definition);
  const snapshot = { name, project_name, ...fields };
  if (snapshot.backend !== undefined) return snapshot;
  // The backend of an existing state stays recorded, even if the files declare a backend later.
  const state = await tx.first(findState, { spec: id });
  return state && state.resources > 0 ? { ...snapshot, backend: "managed" } : snapshot;
}

/** A job may be given to a worker of its owner or to a cloud-hosted one. */
async function checkAssigned(tx: Queries, owner: string, id: string): Promise<void> {
  if (!(await tx.first(findVisibleWorker, { id, owner }))) throw notFound("worker");
}

/** A plan can be deployed only once, and only while its configuration is unchanged. */
async function checkPlan(
  tx: Queries,
  owner: string,
  { job_type, configuration_id, plan_job_id }: CreateJob,
  hash: string,
): Promise<void> {
  if (job_type !== "DEPLOY") throw invalid("body.plan_job_id", "can be set only for a DEPLOY");
  const id = plan_job_id ?? "";
  const plan = await tx.first(findOwnJob, { id, owner });
  if (!plan) throw notFound("plan job");
  if (plan.job_type !== "PLAN" || plan.spec_id !== configuration_id)
    throw new RefusalError("invalid_plan", "plan_job_id must be a PLAN of the same configuration");
  if (plan.status !== "SUCCESS")
    throw new RefusalError(
      "invalid_plan",
      "the PLAN has not ended in SUCCESS with changes to deploy",
    );
  if (!(await tx.first(findArtifact, { job: id })))
    throw new RefusalError(
      "invalid_plan",
      "the PLAN has no plan artifact, because it made none or because retention removed it: plan again",
    );
  if (await tx.first(findUseOfPlan, { plan: id })) throw new RefusalError("plan_already_used");
  // What was deployed since the backup is not known, and the restored state may be outdated.
  if ((plan.ended_at ?? 0) < Number((await findFact(tx, restoredAt)) ?? 0))
    throw new RefusalError(
      "plan_is_stale",
      "the server was restored from a backup after the PLAN: plan again",
    );
  if (plan.config_hash !== hash)
    throw new RefusalError(
      "plan_is_stale",
      "The configuration was changed after the plan was made, so plan again",
    );
}

function newJob(
  { now }: Context,
  id: string,
  owner: string,
  input: CreateJob,
  { spec, hash, features, timeoutSeconds }: Resolved,
): JobRow {
  return {
    ...newlyQueued,
    id,
    owner_id: owner,
    job_type: input.job_type,
    spec_id: spec?.id ?? null,
    zone_id: spec?.zone_id ?? null,
    cloud_identity_id: spec?.cloud_identity_id ?? null,
    assigned_worker_id: input.assigned_worker_id ?? null,
    plan_job_id: input.plan_job_id ?? null,
    labels: input.labels ? JSON.stringify(input.labels) : (spec?.labels ?? "[]"),
    features: JSON.stringify(features),
    config_hash: hash,
    timeout_seconds: timeoutSeconds,
    created_at: now(),
  };
}
