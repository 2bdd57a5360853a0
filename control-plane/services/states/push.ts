/** States that users store themselves, such as one that another backend kept until now. */
import type { StateVersion } from "../../../protocol/state-versions.ts";
import { stateLimit } from "../../../protocol/limits.ts";
import type { UserCaller } from "../callers.ts";
import { isHeld } from "../../domain/job.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Definition } from "../../domain/snapshot.ts";
import { withSerial } from "../../domain/state-serial.ts";
import { setDeployedBackend } from "../../store/configurations/configurations.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import type { Queries } from "../../store/db.ts";
import { findLock, findState, releaseLock, type StateLockRow } from "../../store/states/states.ts";
import { recordOwn } from "../audit/audit.ts";
import { findNamed } from "../configurations/configurations.ts";
import type { Context } from "../context.ts";
import { notifyNextOfSpec, writeJobs } from "../job-changes/changes.ts";
import { countRefusal } from "../storage/quotas.ts";
import { storeContent, type Stored } from "../storage/stored-content.ts";
import { outputsOf } from "./outputs.ts";
import { checkFollows, isRepeated, newReading, observe, summaryOf } from "./states.ts";
import { isUnsaved } from "./unsaved.ts";
import { addOwnVersion, followState, lockedRefusal, view } from "./versions.ts";
import { shortOf } from "../definitions.ts";

/**
 * POST …/state/versions. Like terraform's own `state push`, it accepts only a later version of the
 * stored state. With `force` any state becomes the newest one, and no history is lost. `stored` is
 * false if it was the newest version already.
 */
export async function pushState(
  context: Context,
  user: UserCaller,
  name: string,
  content: AsyncIterable<Uint8Array>,
  force: boolean,
): Promise<Stored<StateVersion>> {
  const { read } = context.store;
  const named = await findNamed(read, user.space_id, name);
  const { id: spec } = named;
  if (shortOf<Definition>(named.definition).backend === "own")
    throw new RefusalError(
      "state_conflict",
      "the configuration keeps its state in its own backend: set its backend to managed first",
    );
  await findUnsavedLock(read, spec);
  const before = await read.first(findState, { spec });
  const seen = newReading();
  const pushed = force && before ? withSerial(content, before.serial + 1) : content;
  const stored = storeContent(context, observe(pushed, seen), stateLimit, async (written) => {
    const outputs = await outputsOf(context, named, written.blob, seen.reader);
    return writeJobs(context, async (tx, afterCommit) => {
      // While the body arrived, its zone may have moved to another space.
      await findNamed(tx, user.space_id, spec);
      const lock = await findUnsavedLock(tx, spec);
      const summary = summaryOf(seen);
      const newest = await tx.first(findState, { spec });
      // From now on the control plane keeps the state of what is deployed, if anything is.
      const backend = summary.resource_count === 0 ? null : "managed";
      await tx.run(setDeployedBackend, { id: spec, backend });
      if (lock) {
        await releaseLock(tx, lock.job_id);
        await notifyNextOfSpec(tx, afterCommit, spec);
      }
      if (newest && isRepeated(newest, summary)) return { answer: view(newest), stored: false };
      if (newest && !(force && newest.id === before?.id)) checkFollows(newest, summary);
      const version = { spec_id: spec, ...summary, ...written, copy_of: null };
      const row = await addOwnVersion(context, tx, user, version);
      await followState(tx, spec, outputs);
      const target = { id: spec, name: named.name, details: { serial: row.serial } };
      await recordOwn(tx, user, { action: "state.push", ...target }, row.created_at);
      return { answer: view(row), stored: true };
    });
  });
  return countRefusal(context, stored);
}

/** A push removes the lock of a job that could not save. Refused while another job has it. */
async function findUnsavedLock(queries: Queries, spec: string): Promise<StateLockRow | undefined> {
  const lock = await queries.first(findLock, { spec });
  if (!lock) return undefined;
  const holder = await queries.first(findJob, { id: lock.job_id });
  if (!isUnsaved(lock) || (holder && isHeld(holder))) throw lockedRefusal();
  return lock;
}
