/** Managed terraform state, as terraform's http backend uses it with the token of a running job. */
import { createHash, type Hash } from "node:crypto";
import type { Readable } from "node:stream";
import { stateLimit } from "../../../protocol/limits.ts";
import type { JobCaller } from "../callers.ts";
import { checkStillValid } from "./job-tokens.ts";
import { StateDocumentReader } from "../../domain/state-document.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import {
  addLock,
  addState,
  findLock,
  findState,
  releaseLock,
  type StateLockRow,
  type StateVersionRow,
} from "../../store/states/states.ts";
import type { Context } from "../context.ts";
import { startJob } from "../job-changes/holder.ts";
import { notifyNextOfSpec, writeJobs, type AfterCommit } from "../job-changes/changes.ts";
import { storeContent } from "../storage/stored-content.ts";

/** A lock as terraform describes it: its ID, and the unchanged document. */
export interface LockDocument {
  readonly id: string;
  readonly info: string;
}

export interface StateContent {
  readonly size_bytes: number;
  /** Hex. */
  readonly md5: string;
  read(): Promise<Readable>;
}

export async function readState(
  { store, blobs }: Context,
  { spec_id: spec }: JobCaller,
): Promise<StateContent | null> {
  const state = await store.read.first(findState, { spec });
  return state ? { ...state, read: () => blobs.read(state.blob) } : null;
}

/**
 * LOCK. Returns null if the caller now holds the lock, else the holder's document. The holder's own
 * ID again succeeds: the client repeats a LOCK whose response was lost, and would otherwise wait
 * for itself (docs/decisions.md, "Managed state").
 */
export function lockState(
  context: Context,
  caller: JobCaller,
  { id, info }: LockDocument,
): Promise<string | null> {
  return writeJobs(context, async (tx, afterCommit) => {
    await checkStillValid(tx, caller);
    const { spec_id, job_id } = caller;
    const lock = await tx.first(findLock, { spec: spec_id });
    if (lock) return holds(lock, caller, id) ? null : lock.info;
    await addLock(tx, { spec_id, lock_id: id, job_id, info, created_at: context.now() });
    await startCaller(tx, afterCommit, caller, context.now());
    return null;
  });
}

/** UNLOCK. Returns null if there is no lock now, else the document of the other holder. */
export function unlockState(
  context: Context,
  caller: JobCaller,
  id: string,
): Promise<string | null> {
  return writeJobs(context, async (tx, afterCommit) => {
    const lock = await tx.first(findLock, { spec: caller.spec_id });
    if (!lock) return null;
    if (!holds(lock, caller, id)) return lock.info;
    await releaseLock(tx, caller.job_id);
    // For a lost job, the lock was the last thing that kept the spec occupied.
    await notifyNextOfSpec(tx, afterCommit, caller.spec_id);
    return null;
  });
}

/**
 * POST: stores a new version, durably before the response. The same version again succeeds and
 * stores nothing. A PLAN may only store a first state, without resources: its files have its
 * token, and nothing that they do needs the role of a deployer or an approval.
 */
export async function writeState(
  context: Context,
  caller: JobCaller,
  lockId: string | undefined,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  // Checked before the body is read, and again when it is there.
  await checkLocked(context.store.read, caller, lockId);
  const seen = newReading();
  await storeContent(context, observe(content, seen), stateLimit, (written) =>
    writeJobs(context, async (tx, afterCommit) => {
      const { job_type } = await checkStillValid(tx, caller);
      await checkLocked(tx, caller, lockId);
      const summary = summaryOf(seen);
      const newest = await tx.first(findState, { spec: caller.spec_id });
      if (newest && isRepeated(newest, summary)) return { answer: undefined, stored: false };
      if (job_type === "PLAN" && (newest || !isFirst(summary)))
        throw new RefusalError(
          "state_conflict",
          "a PLAN does not change the state: deploy the change instead",
        );
      if (newest) checkFollows(newest, summary);
      await startCaller(tx, afterCommit, caller, context.now());
      await addState(tx, {
        spec_id: caller.spec_id,
        ...summary,
        size_bytes: written.size_bytes,
        blob: written.blob,
        job_id: caller.job_id,
        stored_by: null,
        copy_of: null,
        created_at: context.now(),
      });
      return { answer: undefined, stored: true };
    }),
  );
}

export interface Reading {
  readonly reader: StateDocumentReader;
  readonly md5: Hash;
}

export const newReading = (): Reading => ({
  reader: new StateDocumentReader(),
  md5: createHash("md5"),
});

type Summary = Pick<StateVersionRow, "serial" | "lineage" | "md5" | "resource_count">;

export function summaryOf({ reader, md5 }: Reading): Summary {
  const { resources: resource_count, ...rest } = reader.end();
  return { ...rest, resource_count, md5: md5.copy().digest("hex") };
}

export async function* observe(
  content: AsyncIterable<Uint8Array>,
  { reader, md5 }: Reading,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    reader.push(chunk);
    md5.update(chunk);
    yield chunk;
  }
  // Here, so that a body that is not a state is refused before it becomes a blob.
  reader.end();
}

async function checkLocked(
  queries: Queries,
  caller: JobCaller,
  id: string | undefined,
): Promise<void> {
  const lock = await queries.first(findLock, { spec: caller.spec_id });
  if (!lock || !holds(lock, caller, id))
    throw new RefusalError(
      "state_conflict",
      "a state is written under a lock that the job holds (?ID=)",
    );
}

/**
 * Whether it is a state that terraform has just begun. With a serial near the greatest one, which
 * terraform would count up, no later job could store its state.
 */
const isFirst = ({ serial, resource_count }: Summary): boolean =>
  serial <= 1 && resource_count === 0;

export const isRepeated = (newest: StateVersionRow, next: Summary): boolean =>
  newest.serial === next.serial && newest.lineage === next.lineage && newest.md5 === next.md5;

export function checkFollows(newest: StateVersionRow, next: Summary): void {
  if (newest.lineage !== next.lineage)
    throw new RefusalError(
      "state_conflict",
      "the lineage of this state differs from that of the stored state",
    );
  if (next.serial <= newest.serial)
    throw new RefusalError(
      "state_conflict",
      `serial ${next.serial} is not higher than that of the stored state, ${newest.serial}`,
    );
}

const holds = (lock: StateLockRow, { job_id }: JobCaller, id: string | undefined): boolean =>
  lock.job_id === job_id && lock.lock_id === id;

async function startCaller(
  tx: Queries,
  afterCommit: AfterCommit,
  { job_id: id }: JobCaller,
  now: number,
): Promise<void> {
  const job = await tx.first(findJob, { id });
  if (job) await startJob(tx, afterCommit, job, now);
}
