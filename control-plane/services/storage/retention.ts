/**
 * Retention: removes old content that nothing needs. docs/settings.md describes what stays.
 *
 * A transaction removes so little that requests next to it hardly notice. Rows are removed first,
 * together with a note of their blobs, and the files an hour later. So a reader of a row never
 * finds a missing file, and a crash leaves an extra file, never a missing one.
 */
import {
  addLogRemovals,
  deleteChunks,
  deleteDebugLogs,
  deleteLogRemoval,
  deleteOldArtifacts,
  deleteOldStates,
  deleteUnnamedArchive,
  findLogRemoval,
  findOldState,
  listArchives,
  listSpecsWithState,
  markOldLogs,
  setNamed,
} from "../../store/storage/retention.ts";
import { deleteLogArchives } from "../../store/logs/archives.ts";
import { deletePlanAttributes } from "../../store/plans/summaries.ts";
import { addUnnamed } from "../../store/storage/orphaned-blobs.ts";
import { day } from "../../../common/units.ts";
import type { Context } from "../context.ts";
import { removeLoose } from "../definitions.ts";
import { Turns } from "./turns.ts";
import { deleteUnnamedBlobs, noteStrangers } from "./orphaned-blobs.ts";

export interface Removed {
  logs: number;
  artifacts: number;
  archives: number;
  state_versions: number;
  blobs: number;
}

/** Chunks have 16–32 KB: a few milliseconds of the writer. */
const chunksPerTurn = 100;
const rowsPerTurn = 100;
/** How often within its period the use of an archive is recorded. */
const notesPerPeriod = 30;

/** One round over everything. Ends early, between two turns, when `stop` is aborted. */
export async function retainOnce(context: Context, stop?: AbortSignal): Promise<Removed> {
  const { retention } = context;
  const now = context.now();
  const removed = { logs: 0, artifacts: 0, archives: 0, state_versions: 0, blobs: 0 };
  const turns = new Turns(stop);
  removed.blobs = await deleteUnnamedBlobs(context, turns);
  while (await turns.next()) if ((await removeLoose(context)) === 0) break;
  await noteStrangers(context, turns);
  await context.blobs.sweep(now - day);
  removed.artifacts = await removeArtifacts(context, turns, now - retention.artifacts);
  removed.logs = await removeLogs(context, turns, now - retention.logs);
  removed.state_versions = await removeStates(context, turns, now - retention.states);
  removed.archives = await removeArchives(context, turns, now);
  while (await turns.next()) if (!(await context.store.shrink())) break;
  return removed;
}

/** Until fewer than `rowsPerTurn` are removed; returns how many. */
async function repeat(turns: Turns, remove: () => Promise<number>): Promise<number> {
  let all = 0;
  while (await turns.next()) {
    const count = await remove();
    all += count;
    if (count < rowsPerTurn) break;
  }
  return all;
}

async function removeLogs({ store, now }: Context, turns: Turns, before: number): Promise<number> {
  const marked = await repeat(turns, () =>
    store.write(async (tx) => {
      const jobs = await tx.all(markOldLogs, { before, now: now(), limit: rowsPerTurn });
      const ids = jobs.map(({ id }) => id);
      if (ids.length > 0) {
        await addLogRemovals(tx, ids);
        await addUnnamed(tx, names(await deleteDebugLogs(tx, ids)), now());
        await addUnnamed(tx, names(await deleteLogArchives(tx, ids)), now());
        await deletePlanAttributes(tx, ids);
      }
      return jobs.length;
    }),
  );
  // Including the rest of a round that a crash or a stop ended.
  while (await turns.next()) {
    const isMore = await store.write(async (tx) => {
      let left = chunksPerTurn;
      while (left > 0) {
        const job = (await tx.first(findLogRemoval, {}))?.job_id;
        if (job === undefined) return false;
        const deleted = (await tx.all(deleteChunks, { job, limit: left })).length;
        if (deleted < left) await tx.run(deleteLogRemoval, { job });
        // A log without chunks counts too; otherwise the loop would not end.
        left -= Math.max(1, deleted);
      }
      return true;
    });
    if (!isMore) break;
  }
  return marked;
}

const removeArtifacts = (context: Context, turns: Turns, before: number): Promise<number> =>
  repeat(turns, () =>
    context.store.write(async (tx) => {
      const gone = await tx.all(deleteOldArtifacts, { before, limit: rowsPerTurn });
      await addUnnamed(tx, names(gone), context.now());
      return gone.length;
    }),
  );

async function removeStates(context: Context, turns: Turns, before: number): Promise<number> {
  const { store, retention } = context;
  const newest = retention.stateVersions;
  let removed = 0;
  let after = "";
  while (await turns.next()) {
    const specs = await store.read.all(listSpecsWithState, { after, limit: rowsPerTurn });
    for (const { id: spec } of specs) {
      if (!(await store.read.first(findOldState, { spec, newest, before }))) continue;
      removed += await repeat(turns, () =>
        store.write(async (tx) => {
          const gone = await tx.all(deleteOldStates, { spec, newest, before, limit: rowsPerTurn });
          await addUnnamed(tx, names(gone), context.now());
          return gone.length;
        }),
      );
    }
    if (specs.length < rowsPerTurn) break;
    after = specs.at(-1)?.id ?? after;
  }
  return removed;
}

async function removeArchives(context: Context, turns: Turns, now: number): Promise<number> {
  const { store, retention } = context;
  if (!Number.isFinite(retention.artifacts)) return 0;
  const noteEvery = retention.artifacts / notesPerPeriod;
  // It may have been in use for that long after the last record.
  const before = now - retention.artifacts - noteEvery;
  let removed = 0;
  let last = { owner_id: "", sha256: "" };
  while (await turns.next()) {
    const page = await store.read.all(listArchives, {
      owner: last.owner_id,
      sha256: last.sha256,
      limit: rowsPerTurn,
    });
    const due = page.filter(({ is_named, named_at }) =>
      is_named ? named_at < now - noteEvery : named_at < before,
    );
    if (due.length > 0)
      removed += await store.write(async (tx) => {
        const gone: { blob: string }[] = [];
        for (const { owner_id: owner, sha256, is_named } of due) {
          if (is_named) await tx.run(setNamed, { owner, sha256, now });
          else gone.push(...(await tx.all(deleteUnnamedArchive, { owner, sha256, before })));
        }
        await addUnnamed(tx, names(gone), now);
        return gone.length;
      });
    if (page.length < rowsPerTurn) break;
    last = page.at(-1) ?? last;
  }
  return removed;
}

const names = (rows: readonly { blob: string }[]): string[] => rows.map(({ blob }) => blob);
