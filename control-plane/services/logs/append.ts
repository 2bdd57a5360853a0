import {
  logTextLimit,
  type AppendedLogs,
  type AppendLogs,
  type SequencedChunk,
} from "../../../protocol/executions.ts";
import type { LogResource, LogStep } from "../../../protocol/jobs.ts";
import { kibibyte } from "../../../common/units.ts";
import { invalid, RefusalError } from "../../domain/refusal.ts";
import { UnreadableError } from "../../domain/secret-box.ts";
import { storageTrouble } from "../../domain/storage-troubles.ts";
import type { Queries } from "../../store/db.ts";
import { lockJobBriefly } from "../../store/jobs/jobs.ts";
import { findHighestSeq, findLastId } from "../../store/logs/archives.ts";
import { appendChunk, findBySeq } from "../../store/logs/logs.ts";
import { findLogVolume, saveLogVolume } from "../../store/storage/quotas.ts";
import type { WorkerCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { shareJobs } from "../job-changes/changes.ts";
import { fenced, findFenced, startJob } from "../job-changes/holder.ts";
import { findArchivedId } from "./archives.ts";

/** How long an early post waits for its predecessor (docs/decisions.md, "Log positions"). */
const gapWaitMilliseconds = 1000;

/** A larger post is one of many that follow each other as fast as they are stored. */
const smallPost = 4 * kibibyte;

/** Responds after the commit. A numbered chunk is stored once, in its order. */
export async function appendLogs(
  context: Context,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
  post: AppendLogs,
): Promise<AppendedLogs & { stored: boolean }> {
  const { chunks, bytes } = chunksOf(post);
  const options = { row: id, mayWait: bytes <= smallPost };
  const append = () =>
    shareJobs(
      context,
      async (tx, afterCommit, beExclusive) => {
        const now = context.now();
        // Its posts follow one another, so that the ids of its chunks are committed in order.
        const job = fenced(await tx.first(lockJobBriefly, { id }), worker, attempt);
        if (job.started_at === null) {
          beExclusive();
          await startJob(tx, afterCommit, await findFenced(tx, worker, id, attempt), now);
        }
        // A runner that was lost for that long may still report how its job ended, but nothing of the
        // log is stored.
        if (job.log_pruned_at !== null)
          return {
            job_id: id,
            id: 0,
            stored: false,
            archivedSeq: undefined,
            job_status: job.status,
          };
        const limit = context.quotas.logBytes;
        const { dropped, ...appended } = await appendChunks(tx, job.id, chunks, { now, limit });
        if (appended.stored) afterCommit.push((wakeups) => wakeups.notify("job", id));
        if (dropped > 0) afterCommit.push((wakeups) => wakeups.notify("dropped", dropped));
        return { job_id: id, ...appended, job_status: job.status };
      },
      options,
    );
  const deadline = performance.now() + gapWaitMilliseconds;
  for (;;) {
    try {
      const { archivedSeq, ...appended } = await append();
      if (archivedSeq === undefined) return appended;
      // Outside the transaction, which may not wait for the blob.
      const archivedId = await findArchivedId(context, id, archivedSeq).catch(whenUnreadable);
      return { ...appended, id: archivedId ?? appended.id };
    } catch (error) {
      const isGap = error instanceof RefusalError && error.code === "log_gap";
      const left = deadline - performance.now();
      if (!isGap || left <= 0 || context.draining.aborted) throw error;
      await jobWakeup(context, id, left);
    }
  }
}

/** Stores a repeated chunk: a refused runner would not send those that follow. */
function whenUnreadable(error: unknown): undefined {
  if (!(error instanceof UnreadableError) && storageTrouble(error) === undefined) throw error;
}

type Chunk = Omit<SequencedChunk, "seq"> & { readonly seq: number | null };

function chunksOf(post: AppendLogs): { readonly chunks: Chunk[]; readonly bytes: number } {
  const chunks = listedChunks(post);
  const bytes = chunks.reduce((sum, { log_chunk }) => sum + Buffer.byteLength(log_chunk), 0);
  if (bytes > logTextLimit)
    throw new RefusalError(
      "too_large",
      `the post has ${bytes} bytes of log text, more than ${logTextLimit}`,
    );
  return { chunks, bytes };
}

function listedChunks({
  chunks,
  log_chunk,
  stream_type,
  seq,
  step,
  resource,
}: AppendLogs): Chunk[] {
  if (chunks !== undefined) {
    if (log_chunk !== undefined || stream_type !== undefined || seq !== undefined)
      throw invalid("body.chunks", "cannot be combined with log_chunk, stream_type and seq");
    return chunks;
  }
  if (log_chunk === undefined) throw invalid("body.log_chunk", "is missing");
  if (stream_type === undefined) throw invalid("body.stream_type", "is missing");
  const marks = { ...(step ? { step } : {}), ...(resource ? { resource } : {}) };
  return [{ log_chunk, stream_type, seq: seq ?? null, ...marks }];
}

const noVolume = { bytes: 0, dropped_bytes: 0, dropped_seq: 0 };
/** A chunk counts as at least this many bytes: the size of its row. */
const smallestChunk = 64;

async function appendChunks(
  tx: Queries,
  job: string,
  chunks: readonly Chunk[],
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<{
  id: number;
  stored: boolean;
  dropped: number;
  /** The number of the last chunk, if nothing is new and that chunk is archived. */
  archivedSeq: number | undefined;
}> {
  const before = (await tx.first(findLogVolume, { job })) ?? noVolume;
  const volume = { ...before };
  const isNumbered = chunks.some(({ seq }) => seq !== null);
  const highest = isNumbered ? await findHighestSeq(tx, job) : 0;
  let expected = Math.max(highest, before.dropped_seq) + 1;
  let stored: number | undefined;
  for (const { seq, stream_type, log_chunk, step, resource } of chunks) {
    if (seq !== null && seq < expected) continue;
    if (seq !== null && seq > expected)
      throw new RefusalError("log_gap", `chunk ${expected} comes before chunk ${seq}`, {
        expected_seq: expected,
      });
    const size = Math.max(Buffer.byteLength(log_chunk), smallestChunk);
    // After the first chunk beyond the quota no other is stored, because a log must not have holes.
    if (volume.dropped_bytes > 0 || volume.bytes + size > limit) {
      volume.dropped_bytes += size;
      if (seq !== null) volume.dropped_seq = seq;
      stored ??= 0;
      if (seq !== null) expected += 1;
      continue;
    }
    volume.bytes += size;
    const marks = { step: stepText(step), resource: resourceText(resource) };
    const chunk = { job, seq, stream_type, log_chunk, ...marks, now };
    const row = await tx.first(appendChunk, chunk);
    stored = row?.id;
    if (seq !== null) expected += 1;
  }
  const dropped = volume.dropped_bytes - before.dropped_bytes;
  if (stored !== undefined) {
    await tx.run(saveLogVolume, { job, ...volume });
    // For a post that was dropped completely: the last chunk that is stored.
    const id = stored || (await findLastId(tx, job));
    return { id, stored: true, dropped, archivedSeq: undefined };
  }
  // Nothing is new: returns the id under which the last of them is stored.
  const seq = chunks.at(-1)?.seq ?? 0;
  const repeated = await tx.first(findBySeq, { job, seq });
  const isArchived = repeated === undefined && seq <= highest;
  return {
    id: repeated?.id ?? (await findLastId(tx, job)),
    stored: false,
    dropped,
    archivedSeq: isArchived ? seq : undefined,
  };
}

const stepText = (step: LogStep | undefined): string | null =>
  step ? JSON.stringify({ name: step.name, event: step.event, at: step.at }) : null;

const resourceText = (resource: LogResource | undefined): string | null =>
  resource
    ? JSON.stringify({
        address: resource.address,
        action: resource.action,
        event: resource.event,
        at: resource.at,
        elapsed_seconds: resource.elapsed_seconds,
      })
    : null;

function jobWakeup({ wakeups }: Context, id: string, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      unlisten();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    const unlisten = wakeups.listen("job", (changed) => {
      if (changed === id) end();
    });
  });
}
