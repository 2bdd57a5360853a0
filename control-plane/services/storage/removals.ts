/**
 * Removing what was deleted and has a long history: the deletion hides it at once and removes a little; turns in the background remove the
 * rest. What is left to do is found in the tables, so a crash forgets nothing.
 */
import type { Queries } from "../../store/db.ts";
import {
  deleteSomeStates,
  deleteSpec,
  detachSomeJobs,
  findAbandoned,
} from "../../store/configurations/removals.ts";
import { addUnnamed } from "../../store/storage/orphaned-blobs.ts";
import { findRemovedHolders } from "../../store/workers/workers.ts";
import { system } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../jobs/changes.ts";
import { loseSomeJobs } from "../jobs/outcomes.ts";
import { Turns } from "./turns.ts";
import { forget } from "./orphaned-blobs.ts";

/** Of a configuration's history; a few milliseconds of the writer. */
const rowsPerTurn = 100;

/** Removes some of what belongs to an abandoned configuration, and the configuration with the last of it. Answers the blobs that it noted. */
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
      (await writeJobs(context, (tx, rings) => loseSomeJobs(tx, rings, id, system, context.now())))
    );
  for (;;) {
    const spec = await store.read.first(findAbandoned, {});
    if (!spec || !(await turns.next())) return;
    await forget(context, await store.write((tx) => removeSomeOfSpec(tx, spec.id, context.now())));
  }
}
