import type { Heartbeat, HeartbeatAnswer } from "../../../protocol/workers.ts";
import type { WorkerCaller } from "../callers.ts";
import { hasEnded } from "../../domain/job.ts";
import { acceptsToken, tokenExpiry, workerStatus } from "../../domain/worker.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findHeldBriefly, setOmitted } from "../../store/jobs/jobs.ts";
import {
  findWorker,
  findWorkerCaller,
  markOnline,
  recordHeartbeat,
  recordLeaving,
} from "../../store/workers/workers.ts";
import { runner } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { recordWorkerEvent } from "./worker-events.ts";
import { removeWorker } from "./teardown.ts";
import { proofKeyOf } from "./credentials.ts";
import { time } from "../../domain/moments.ts";
import { latestVersion } from "../releases/releases.ts";

/**
 * How long a waiting heartbeat waits if jobs are cancelled when it arrives: the agent may know them
 * already, or the last response may have been lost. So the agent repeats it at most once a second.
 */
const knownCancelMilliseconds = 1000;

export interface HeartbeatRequest {
  readonly worker: WorkerCaller;
  readonly body: Heartbeat;
  readonly waitMilliseconds: number;
  readonly disconnected: () => AbortSignal;
}

export async function heartbeat(
  context: Context,
  { worker, body, waitMilliseconds, disconnected }: HeartbeatRequest,
): Promise<HeartbeatAnswer> {
  refuseSecondAgent(context, worker, body.instance_id);
  // With jobs it is an ordinary heartbeat, so that they are not lost before their time.
  const isLeaving = body.leaving === true && (body.active_job_ids ?? []).length === 0;
  const held = await context.store.share(
    async (tx) => {
      const now = context.now();
      const comesBack =
        isBack(worker) && (await tx.first(markOnline, { id: worker.id, now })) !== undefined;
      if (comesBack && !isLeaving) await recordWorkerEvent(tx, now, "worker.online", worker);
      const jobs = await record(context, tx, worker.id, body);
      if (isLeaving) await tx.run(recordLeaving, { id: worker.id, now });
      if (isLeaving && !isBack(worker)) await recordWorkerEvent(tx, now, "worker.offline", worker);
      return jobs;
    },
    { row: worker.id, mayWait: true },
  );
  if (isLeaving && worker.ephemeral === 1) await removeEphemeral(context, worker);
  const cancelled = held.filter((job) => job.status === "CANCELLED").map(({ id }) => id);
  const now = context.now();
  const offline_at = isLeaving ? now : null;
  const status = workerStatus({ ...worker, offline_at, last_heartbeat_at: now });
  const { labels = worker.labels, features } = listsOf(body);
  const isNewInstance = body.instance_id !== undefined && body.instance_id !== worker.instance_id;
  const isChanged = labels !== worker.labels || features !== worker.features || isNewInstance;
  const event = isLeaving ? "offline" : isBack(worker) ? "online" : undefined;
  if (event !== undefined)
    context.wakeups.notify("worker_event", { what: event, id: worker.id, name: worker.name });
  // Its waiting claims may get other jobs now, and its row in memory is out of date.
  if (event !== undefined || isChanged) context.wakeups.notify("worker", worker.id);
  if (body.wants_proof_key === true)
    return {
      ...(await answer(context, worker.id, status, cancelled)),
      proof_key: proofKeyOf(context, worker.id),
    };
  if (isLeaving || waitMilliseconds === 0) return answer(context, worker.id, status, cancelled);
  const wait =
    cancelled.length > 0 ? Math.min(waitMilliseconds, knownCancelMilliseconds) : waitMilliseconds;
  return waitForChange(context, worker, { status, cancelled }, wait, disconnected());
}

/** Removes a worker that leaves, unless it holds a job: the watch removes it then. */
const removeEphemeral = (context: Context, caller: WorkerCaller): Promise<void> =>
  writeJobs(context, async (tx, afterCommit) => {
    const worker = await tx.first(findWorker, { id: caller.id });
    if (!worker || (await tx.all(findHeldBriefly, { worker: caller.id })).length > 0) return;
    await removeWorker(tx, afterCommit, worker, runner(caller), context.now());
  });

const isBack = ({ offline_at, last_heartbeat_at }: WorkerCaller): boolean =>
  offline_at !== null || last_heartbeat_at === null;

/** A heartbeat without features clears them: an older agent runs now. */
const listsOf = ({ labels, features = [] }: Heartbeat) => ({
  labels: labels && JSON.stringify(labels),
  features: JSON.stringify(features),
});

async function record(context: Context, tx: Queries, id: string, body: Heartbeat) {
  const { active_job_ids: active } = body;
  const { labels = null, features } = listsOf(body);
  await tx.run(recordHeartbeat, {
    id,
    now: context.now(),
    version: body.version,
    instance_id: body.instance_id ?? null,
    hostname: body.hostname ?? null,
    os: body.os ?? null,
    arch: body.arch ?? null,
    capacity: body.capacity ?? null,
    isolation: body.isolation ?? null,
    labels,
    features,
    active_job_ids: active ? JSON.stringify(active) : null,
  });
  const held = await tx.all(findHeldBriefly, { worker: id });
  // Only heartbeats with the list report about jobs (watch.ts: jobs it leaves out are lost).
  if (active !== undefined) {
    const listed = new Set(active);
    for (const job of held) {
      const isOmitted = !listed.has(job.id);
      if (isOmitted !== (job.omitted_at !== null))
        await tx.run(setOmitted, { id: job.id, omitted_at: isOmitted ? context.now() : null });
    }
  }
  return held;
}

/** Each of two agents with one identity would take the other's jobs for its own. */
function refuseSecondAgent(
  { now, periods }: Context,
  worker: WorkerCaller,
  instance: string | undefined,
): void {
  const isOther =
    instance !== undefined &&
    worker.instance_id !== null &&
    worker.instance_id !== instance &&
    worker.offline_at === null &&
    worker.last_heartbeat_at !== null &&
    now() - worker.last_heartbeat_at < periods.offline;
  if (isOther)
    throw new RefusalError(
      "identity_in_use",
      "another agent uses this worker's identity: stop that agent, or register this one as a worker of its own",
    );
}

interface Orders {
  readonly status: HeartbeatAnswer["status"];
  readonly cancelled: readonly string[];
}

/** Until cancels or drain differ from `before`, the time is up, or the server drains. */
async function waitForChange(
  context: Context,
  { id, presented_hash }: WorkerCaller,
  before: Orders,
  milliseconds: number,
  disconnected: AbortSignal,
): Promise<HeartbeatAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<Orders>();
  let isOver = false;
  let expiry: NodeJS.Timeout | undefined;
  const lookAgain = () => void look().catch(reject);
  const look = async () => {
    const worker = await context.store.read.first(findWorkerCaller, { id });
    if (!worker || !acceptsToken(worker, presented_hash, context.now()))
      return reject(new RefusalError("invalid_worker_token"));
    const expiresAt = tokenExpiry(worker, presented_hash);
    clearTimeout(expiry);
    if (expiresAt !== null && !isOver)
      expiry = setTimeout(lookAgain, Math.max(1, expiresAt - context.now()));
    const jobs = await context.store.read.all(findHeldBriefly, { worker: id });
    const orders = {
      status: workerStatus(worker),
      cancelled: jobs.filter((job) => hasEnded(job)).map((job) => job.id),
    };
    const isSame =
      orders.status === before.status && orders.cancelled.join() === before.cancelled.join();
    if (!isSame) resolve(orders);
  };
  const unlisten = [
    context.wakeups.listen("worker", (changed) => {
      if (changed === id) lookAgain();
    }),
    context.wakeups.onMissed(lookAgain),
  ];
  const end = () => resolve(before);
  const timer = setTimeout(end, milliseconds);
  for (const signal of [disconnected, context.draining]) {
    signal.addEventListener("abort", end, { once: true });
    // A signal that was aborted earlier fires no event.
    if (signal.aborted) end();
  }
  try {
    // Checks for changes between the record and the subscription.
    await look();
    const orders = await promise;
    return await answer(context, id, orders.status, orders.cancelled);
  } finally {
    isOver = true;
    clearTimeout(timer);
    clearTimeout(expiry);
    for (const stop of unlisten) stop();
    for (const signal of [disconnected, context.draining]) signal.removeEventListener("abort", end);
  }
}

const answer = async (
  context: Context,
  worker_id: string,
  status: Orders["status"],
  cancelled: readonly string[],
): Promise<HeartbeatAnswer> => ({
  worker_id,
  status,
  server_time: time(context.now()),
  heartbeat_interval_seconds: context.periods.heartbeat / 1000,
  cancelled_job_ids: [...cancelled],
  latest_version: await latestVersion(context),
});
