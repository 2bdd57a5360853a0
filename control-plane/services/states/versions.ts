/** Managed state for users: its versions, rollback, unlock. */
import type { ConfigurationStatus } from "../../../protocol/configurations.ts";
import type { ExecutionMetadata } from "../../../protocol/jobs.ts";
import type { StateLock, StateVersion } from "../../../protocol/state-versions.ts";
import { stateLimit } from "../../../protocol/limits.ts";
import { minute } from "../../../common/units.ts";
import { nameOf, type UserCaller } from "../callers.ts";
import { isHeld } from "../../domain/job.ts";
import { withSerial } from "../../domain/state-serial.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findSpecStatus, moveSpec } from "../../store/configurations/configurations.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import {
  addState,
  findLock,
  findState,
  releaseLock,
  type NewStateVersion,
  findStateVersion,
  listStateVersions as listRows,
} from "../../store/states/states.ts";
import { findNamed } from "../configurations/configurations.ts";
import { deployedStatus } from "../job-changes/deployed.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { notifyNextOfSpec, writeJobs } from "../job-changes/changes.ts";
import { finalizeDeployment } from "../job-changes/finalize-deployment.ts";
import { time } from "../../domain/moments.ts";
import { checkStateBytes, countRefusal } from "../storage/quotas.ts";
import { outputsOf } from "./outputs.ts";
import { newReading, observe, summaryOf, type StateContent } from "./states.ts";
import { OneAtATime } from "../one-at-a-time.ts";
import { isUnsaved } from "./unsaved.ts";
import { readWithin, storeContent } from "../storage/stored-content.ts";

export async function listStateVersions(
  { store: { read } }: Context,
  { space_id }: UserCaller,
  name: string,
  before: number | undefined,
  limit: number,
): Promise<StateVersion[]> {
  const { id } = await findNamed(read, space_id, name);
  const rows = await listRows(read, id, before, limit);
  return rows.map((row) => ({ ...view(row), stored_by: row.stored_by, copy_of: row.copy_of }));
}

export async function findStateLock(
  { store: { read } }: Context,
  { space_id }: UserCaller,
  name: string,
): Promise<StateLock | null> {
  const { id: spec } = await findNamed(read, space_id, name);
  const lock = await read.first(findLock, { spec });
  if (!lock) return null;
  const { job_id, created_at } = lock;
  const holder = await read.first(findJob, { id: job_id });
  const held = holder !== undefined && isHeld(holder);
  return { job_id, created_at: time(created_at), held, state_unsaved: isUnsaved(lock) };
}

/** Contains secrets: the download is recorded before its first byte is sent. */
export async function findStateContent(
  { store, blobs, now }: Context,
  user: UserCaller,
  name: string,
  serial: number,
): Promise<StateContent> {
  const version = await store.write(async (tx) => {
    const spec = await findNamed(tx, user.space_id, name);
    const found = await findVersion(tx, spec.id, serial);
    const target = { id: spec.id, name: spec.name };
    await recordOwn(tx, user, { action: "state.download", ...target, details: { serial } }, now());
    return found;
  });
  return { ...version, read: () => blobs.read(version.blob) };
}

/** Rollbacks of one user that run or wait. */
export const rollbacksPerUser = 2;
/** 64 MiB at 1 Mbit/s: others wait meanwhile. */
const readingLimit = 10 * minute;
/** Copies up to 64 MiB, about 3 s of the event loop in small turns. */
const rollingBack = new OneAtATime(
  rollbacksPerUser,
  `The server already rolls back ${rollbacksPerUser} states for you. Try again when they are stored.`,
);

/**
 * POST …/state/versions/{serial}/rollback. Stores the old content as a new version with a serial
 * above the highest, so that terraform takes it for the newest and no history is lost. Refused
 * while the state is locked, and with 429 if the user has too many.
 */
export const rollBackState = (
  context: Context,
  user: UserCaller,
  name: string,
  serial: number,
): Promise<StateVersion> =>
  rollingBack.run(user.user_id, () => rollBack(context, user, name, serial));

async function rollBack(
  context: Context,
  user: UserCaller,
  name: string,
  serial: number,
): Promise<StateVersion> {
  const { read } = context.store;
  const named = await findNamed(read, user.space_id, name);
  const { id: spec } = named;
  const old = await findVersion(read, spec, serial);
  await refuseLocked(read, spec);
  const newest = await read.first(findState, { spec });
  const next = (newest ?? old).serial + 1;
  const content = withSerial(readWithin(context, old.blob, readingLimit), next);
  const seen = newReading();
  const stored = storeContent(context, observe(content, seen), stateLimit, async (written) => {
    const outputs = await outputsOf(context, named, written.blob, seen.reader);
    return context.store.write(async (tx) => {
      // While the version was read, its zone may have moved to another space.
      await findNamed(tx, user.space_id, spec);
      await refuseLocked(tx, spec);
      const summary = summaryOf(seen);
      if ((await tx.first(findState, { spec }))?.id !== newest?.id || summary.serial !== next)
        throw new RefusalError(
          "state_conflict",
          "the state has changed in the meantime; check it and try again",
        );
      const version = { spec_id: spec, ...summary, ...written, copy_of: serial };
      const row = await addOwnVersion(context, tx, user, version);
      const details = { serial: next, from_serial: serial };
      const target = { id: spec, name: named.name, details };
      await recordOwn(tx, user, { action: "state.roll_back", ...target }, row.created_at);
      await followState(tx, spec, outputs);
      return { answer: view(row), stored: true };
    });
  });
  return (await countRefusal(context, stored)).answer;
}

/** Refused while a job may still write; such a job must be cancelled instead. */
export async function breakStateLock(
  context: Context,
  user: UserCaller,
  name: string,
): Promise<void> {
  await writeJobs(context, async (tx, afterCommit) => {
    const named = await findNamed(tx, user.space_id, name);
    const { id: spec } = named;
    const lock = await tx.first(findLock, { spec });
    if (!lock) return;
    const holder = await tx.first(findJob, { id: lock.job_id });
    if (holder && isHeld(holder))
      throw new RefusalError(
        "configuration_busy",
        "the job that locked the state is running: cancel it instead",
      );
    await releaseLock(tx, lock.job_id);
    const target = { id: spec, name: named.name, details: { job_id: lock.job_id } };
    await recordOwn(tx, user, { action: "state.unlock", ...target }, context.now());
    await notifyNextOfSpec(tx, afterCommit, spec);
  });
}

/** Adds a version that a user stores, if the quota allows it. Returns its row. */
export async function addOwnVersion(
  context: Context,
  tx: Queries,
  user: UserCaller,
  version: NewVersion,
) {
  const { spec_id, serial, lineage, md5, resource_count, size_bytes, blob, copy_of } = version;
  await checkStateBytes(context, tx, user.space_id, size_bytes);
  const content = { spec_id, serial, lineage, md5, resource_count, size_bytes, blob, copy_of };
  const row = { ...content, job_id: null, stored_by: nameOf(user), created_at: context.now() };
  await addState(tx, row);
  return row;
}

/** The statuses that only say what is deployed. */
const settled: ReadonlySet<ConfigurationStatus> = new Set(["NEW", "DEPLOYED", "DESTROYED"]);

/** After a user stored a state. A status that shows a running or failed job stays. */
export async function followState(
  tx: Queries,
  id: string,
  outputs: ExecutionMetadata,
): Promise<void> {
  const spec = await tx.first(findSpecStatus, { id });
  if (!spec) return;
  if (spec.deployed_backend !== "own") await finalizeDeployment(tx, id, outputs);
  if (!settled.has(spec.status)) return;
  await tx.run(moveSpec, { id, status: await deployedStatus(tx, { id, ...spec }) });
}

type NewVersion = Omit<NewStateVersion, "job_id" | "stored_by" | "created_at">;

async function findVersion(queries: Queries, spec: string, serial: number) {
  const version = await queries.first(findStateVersion, { spec, serial });
  if (!version) throw notFound("state version");
  return version;
}

async function refuseLocked(queries: Queries, spec: string): Promise<void> {
  if (await queries.first(findLock, { spec })) throw lockedRefusal();
}

export const lockedRefusal = (): RefusalError =>
  new RefusalError(
    "state_locked",
    "the state is locked: wait for the job that holds the lock, or unlock the state",
  );

export const view = (row: NewStateVersion): StateVersion => ({
  serial: row.serial,
  lineage: row.lineage,
  size_bytes: row.size_bytes,
  md5: row.md5,
  resources: row.resource_count,
  job_id: row.job_id,
  created_at: time(row.created_at),
});
