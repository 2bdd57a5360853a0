/**
 * Removes the history of deleted objects: the deletion hides an object at once and removes a little
 * of its history; small transactions in the background remove the rest. The tables show what is
 * left to do, so a crash forgets nothing.
 */
import type { Queries } from "../../store/db.ts";
import {
  deleteSomeStates,
  deleteSpec,
  detachSomeJobs,
  findAbandoned,
} from "../../store/configurations/removals.ts";
import { addUnnamed } from "../../store/storage/orphaned-blobs.ts";
import { findRemovedHolders } from "../../store/workers/silent.ts";
import { system } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { loseSomeJobs } from "../job-changes/outcomes.ts";
import { Turns } from "./turns.ts";
import { forget } from "./orphaned-blobs.ts";

/** Rows of a configuration's history in one transaction: a few milliseconds of the writer. */
const rowsPerTurn = 100;

/** The configuration itself goes with the last of them. Returns the blobs to delete. */
export async function removeSomeOfSpec(tx: Queries, spec: string, now: number): Promise<string[]> {
  const states = await tx.all(deleteSomeStates, { spec, limit: rowsPerTurn });
  const blobs = states.map(({ blob }) => blob);
  await addUnnamed(tx, blobs, now);
  const limit = rowsPerTurn - states.length;
  const jobs = limit > 0 ? await tx.all(detachSomeJobs, { spec, limit }) : [];
  if (jobs.length < limit) await tx.run(deleteSpec, { id: spec });
  return blobs;
}

/** Finishes every deletion. Ends early, between two turns, when `stop` is aborted. */
export async function finishDeletions(context: Context, stop?: AbortSignal): Promise<void> {
  const { store } = context;
  const turns = new Turns(stop);
  for (const { id } of await store.read.all(findRemovedHolders, {}))
    while (
      (await turns.next()) &&
      (await writeJobs(context, (tx, afterCommit) =>
        loseSomeJobs(tx, afterCommit, id, system, context.now()),
      ))
    );
  for (;;) {
    const spec = await store.read.first(findAbandoned, {});
    if (!spec || !(await turns.next())) return;
    await forget(context, await store.write((tx) => removeSomeOfSpec(tx, spec.id, context.now())));
  }
}
