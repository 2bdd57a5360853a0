import { v7 as uuid } from "uuid";
import type {
  RegisterWorker,
  RotatedIdentity,
  Worker,
  WorkerIdentity,
} from "../../../protocol/workers.ts";
import { tokenOverlap } from "../../../protocol/limits.ts";
import { workerMetadataLimit } from "../../../protocol/workers.ts";
import { nameOf, type Origin, type UserCaller, type WorkerCaller } from "../callers.ts";
import { mergePatch } from "../../domain/merge-patch.ts";
import { hashToken, newToken } from "../../domain/tokens.ts";
import { newlyRegistered, type WorkerRow } from "../../domain/worker.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { countHeldOfOwner, findHeldJobs } from "../../store/jobs/jobs.ts";
import {
  findOwnWorker,
  findVisibleWorker,
  findWorker as findWorkerRow,
  insertWorker,
  listWorkerIds as listRowIds,
  updateWorker as saveWorker,
  useRegistrationToken,
} from "../../store/workers/workers.ts";
import { fingerprint, person, record, recordOwn, runner } from "../audit/audit.ts";
import type { Actor, AuditRecord } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { checkCount, countRefusal } from "../storage/quotas.ts";
import { timeOrNull } from "../../domain/moments.ts";
import { removeWorker } from "./teardown.ts";
import { viewWithJobs, viewWorker } from "./views.ts";

type Metadata = Record<string, unknown>;

/** As a user, by a token's hash, or as the worker itself. */
export type Registrant =
  | { readonly kind: "user"; readonly user: UserCaller }
  | { readonly kind: "token"; readonly token_hash: string; readonly origin: Origin }
  | { readonly kind: "worker"; readonly worker: WorkerCaller };

export async function registerWorker(
  context: Context,
  registrant: Registrant,
  { name, mode, labels, isolation }: RegisterWorker,
): Promise<WorkerIdentity> {
  if (mode !== undefined && mode !== "self-hosted")
    throw invalid("body.mode", 'must be "self-hosted"');
  const input = { name, labels, isolation };
  if (registrant.kind === "worker") {
    const { worker } = registrant;
    return rotate(context, worker.id, { by: runner(worker), action: "worker.register" }, input);
  }
  if (registrant.kind === "user") {
    const { user } = registrant;
    return addWorker(context, { owner: user.space_id, by: person(user) }, input);
  }
  const { token_hash, origin } = registrant;
  const useToken = async (tx: Queries) => {
    const token = await tx.first(useRegistrationToken, { token_hash, now: context.now() });
    if (!token)
      throw new RefusalError("unauthenticated", "the registration token is used up or expired");
    const by = {
      kind: "registration_token",
      id: fingerprint(token_hash),
      name: null,
      origin,
    } as const;
    return { owner: token.owner_id, by, ephemeral: token.ephemeral };
  };
  return addWorker(context, useToken, input);
}

/** Returns a worker that the user may see; undefined if there is none. */
export async function findWorker(
  { store }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<Worker | undefined> {
  const worker = await store.read.first(findVisibleWorker, { id, owner });
  return worker && viewWithJobs(store.read, worker, owner);
}

export async function getWorker(context: Context, user: UserCaller, id: string): Promise<Worker> {
  const worker = await findWorker(context, user, id);
  if (!worker) throw notFound("worker");
  return worker;
}

export const listWorkerIds = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<string[]> => listRowIds(read, owner, before, limit);

/** A page of the workers that the user may see, newest first. */
export async function listWorkers(
  context: Context,
  user: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Worker[]> {
  const ids = await listWorkerIds(context, user, before, limit);
  const workers = await Promise.all(ids.map((id) => findWorker(context, user, id)));
  return workers.filter((worker) => worker !== undefined);
}

/** The worker itself, or the one that its DESTROY_WORKER job names. */
export async function readWorker(
  { store }: Context,
  caller: WorkerCaller,
  id: string,
): Promise<Worker> {
  const worker = await findReachable(store.read, caller, id);
  return viewWorker(worker, worker.owner_id);
}

/** From the jobs: the last heartbeat is older, and stale for an offline worker. */
export async function countHeldJobs(
  { store }: Context,
  { space_id: owner }: UserCaller,
): Promise<ReadonlyMap<string, number>> {
  const rows = await store.read.all(countHeldOfOwner, { owner });
  return new Map(rows.map(({ worker_id, count }) => [worker_id, count]));
}

export async function updateMetadata(
  { store }: Context,
  caller: WorkerCaller,
  id: string,
  patch: Readonly<Record<string, unknown>>,
): Promise<Worker> {
  if ("deploy_configuration" in patch)
    throw invalid("body.deploy_configuration", "cannot be changed by a worker");
  return store.write(async (tx) => {
    const worker = await findReachable(tx, caller, id);
    const { deploy_configuration, ...known } = JSON.parse(worker.metadata) as Metadata;
    const merged = mergePatch(known, patch) as Metadata;
    if (Buffer.byteLength(JSON.stringify(merged)) > workerMetadataLimit)
      throw new RefusalError(
        "payload_too_large",
        `the metadata would be larger than ${workerMetadataLimit} bytes`,
      );
    const metadata = JSON.stringify({ ...merged, deploy_configuration });
    await saveWorker(tx, id, { metadata });
    return viewWorker({ ...worker, metadata }, worker.owner_id);
  });
}

/** POST and DELETE /api/cli/workers/{id}/drain. A second drain keeps the time of the first. */
export async function setDraining(
  context: Context,
  user: UserCaller,
  id: string,
  isDraining: boolean,
): Promise<Worker> {
  const { space_id: owner } = user;
  const worker = await context.store.write(async (tx) => {
    const found = await tx.first(findOwnWorker, { id, owner });
    if (!found) throw notFound("worker");
    const draining_at = isDraining ? (found.draining_at ?? context.now()) : null;
    // Nothing changes, so there is nothing to record.
    if (draining_at === found.draining_at) return found;
    await saveWorker(tx, id, { draining_at });
    const action = isDraining ? "worker.drain" : "worker.undrain";
    const { name } = found;
    await recordOwn(tx, user, { action, id, name }, context.now());
    return { ...found, draining_at };
  });
  context.wakeups.notify("worker", id);
  const what = isDraining ? "is draining" : "takes jobs again";
  context.wakeups.notify("worker_event", { what, id, name: worker.name, by: nameOf(user) });
  return viewWithJobs(context.store.read, worker, owner);
}

export async function rotateToken(
  context: Context,
  user: UserCaller,
  id: string,
  overlapSeconds: number = tokenOverlap.default,
): Promise<RotatedIdentity> {
  const owner = user.space_id;
  if (!(await context.store.read.first(findOwnWorker, { id, owner }))) throw notFound("worker");
  const expires = overlapSeconds > 0 ? context.now() + overlapSeconds * 1000 : null;
  const details = { overlap_seconds: overlapSeconds };
  const entry = { by: person(user), action: "worker.rotate_token", details } as const;
  const identity = await rotate(context, id, entry, {}, expires);
  return { ...identity, old_token_expires_at: timeOrNull(expires) };
}

export async function deleteWorker(context: Context, user: UserCaller, id: string): Promise<void> {
  await writeJobs(context, async (tx, afterCommit) => {
    const worker = await tx.first(findOwnWorker, { id, owner: user.space_id });
    if (!worker) throw notFound("worker");
    await removeWorker(tx, afterCommit, worker, person(user), context.now());
  });
}

async function rotate(
  context: Context,
  id: string,
  entry: Pick<AuditRecord, "by" | "action" | "details">,
  { name, labels, isolation }: Partial<NewWorker>,
  oldTokenExpiresAt: number | null = null,
): Promise<WorkerIdentity> {
  const token = newToken("wlw");
  const known = await context.store.write(async (tx) => {
    const worker = await tx.first(findWorkerRow, { id });
    if (!worker) throw notFound("worker");
    await saveWorker(tx, id, {
      token_hash: hashToken(token),
      old_token_hash: oldTokenExpiresAt === null ? null : worker.token_hash,
      old_token_expires_at: oldTokenExpiresAt,
      // The next agent may be another installation, and must not be refused because of the old one.
      instance_id: null,
      // And it must not get jobs that only the old one supports.
      ...(name === undefined ? {} : { name, features: "[]" }),
      ...(labels === undefined ? {} : { labels: JSON.stringify(labels) }),
      ...(isolation === undefined ? {} : { isolation }),
    });
    const target = { owner: worker.owner_id, id, name: name ?? worker.name };
    await record(tx, { ...entry, ...target }, context.now());
    return target.name;
  });
  context.wakeups.notify("worker", id);
  const by = entry.by.name ?? entry.by.kind;
  const what = entry.action === "worker.register" ? "registered" : "got a new token";
  context.wakeups.notify("worker_event", { what, id, name: known, by });
  return { worker_id: id, worker_token: token };
}

/** What a worker reports of itself when it registers. */
interface NewWorker {
  readonly name: string;
  readonly labels?: readonly string[] | undefined;
  readonly isolation?: string | undefined;
}

/** What others decide about it. Only pipelines set metadata. */
interface NewWorkerOf {
  readonly owner: string | null;
  readonly by: Actor;
  readonly metadata?: object;
  readonly ephemeral?: number;
}

/** Without an owner it is cloud-hosted. `of` may be found in the same transaction. */
export async function addWorker(
  context: Context,
  of: NewWorkerOf | ((tx: Queries) => Promise<NewWorkerOf>),
  { name, labels = [], isolation }: NewWorker,
): Promise<WorkerIdentity> {
  const { store, wakeups, now } = context;
  const [id, token] = [uuid(), newToken("wlw")];
  const added = store.write(async (tx) => {
    const {
      owner,
      by,
      metadata = {},
      ephemeral = 0,
    } = typeof of === "function" ? await of(tx) : of;
    if (owner !== null) await checkCount(context, tx, owner, "workers");
    const worker: WorkerRow = {
      ...newlyRegistered,
      id,
      owner_id: owner,
      name,
      mode: owner === null ? "cloud-hosted" : "self-hosted",
      token_hash: hashToken(token),
      labels: JSON.stringify(labels),
      isolation: isolation ?? null,
      created_at: now(),
      metadata: JSON.stringify(metadata),
      ephemeral,
    };
    await insertWorker(tx, worker);
    const details = { mode: worker.mode };
    const entry = { by, owner, action: "worker.register", id, name, details } as const;
    await record(tx, entry, worker.created_at);
    return by;
  });
  const { kind, name: who } = await countRefusal(context, added);
  wakeups.notify("worker_event", { what: "registered", id, name, by: who ?? kind });
  return { worker_id: id, worker_token: token };
}

async function findReachable(
  queries: Queries,
  caller: WorkerCaller,
  id: string,
): Promise<WorkerRow> {
  const isReachable =
    caller.id === id ||
    (await queries.all(findHeldJobs, { worker: caller.id })).some(
      (job) => job.job_type === "DESTROY_WORKER" && job.assigned_worker_id === id,
    );
  const worker = isReachable ? await queries.first(findWorkerRow, { id }) : undefined;
  if (!worker) throw notFound("worker");
  return worker;
}
