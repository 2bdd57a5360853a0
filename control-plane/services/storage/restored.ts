/**
 * The first start after a restore. The server does not know what happened between the backup and
 * the restore, so nothing that may have been done is repeated, and nothing that may have been ended
 * works again.
 */
import { outliveRestore } from "../../domain/job.ts";
import { findFact, removeFact, restoredAt, restorePending, setFact } from "../../store/facts.ts";
import {
  endAllSignIns,
  findAllUnreleased,
  removeAllAccessTokens,
  removeDueRuns,
  removeOpenInvitations,
} from "../../store/storage/restored.ts";
import { addLock, findLock } from "../../store/states/states.ts";
import type { JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import type { Context } from "../context.ts";
import { record, system } from "../audit/audit.ts";
import { changeJob, writeJobs } from "../job-changes/changes.ts";
import { recordOutcome } from "../job-changes/outcomes.ts";
import { time } from "../../domain/moments.ts";

/** Once. Returns how many jobs have an unknown outcome; undefined without a restore. */
export async function settleRestore(context: Context): Promise<number | undefined> {
  const from = await findFact(context.store.read, restorePending);
  if (from === undefined) return undefined;
  return writeJobs(context, async (tx, afterCommit) => {
    const now = context.now();
    const jobs = await tx.all(findAllUnreleased, {});
    for (const job of jobs) {
      const isHeld = job.worker_id !== null;
      // The runner may still be working on the job, so its spec waits for its report, or for a user
      // who has checked.
      if (isHeld && job.job_type !== "PLAN") await lockFor(tx, job, from, now);
      const settled = outliveRestore(job, from, now);
      const after = await changeJob(tx, afterCommit, job, settled, now, { keepLock: isHeld });
      await recordOutcome(tx, { by: system, action: "job.lose", before: job, after }, now);
    }
    for (const { id, user_id: owner, kind: name } of await endAllSignIns(tx, now)) {
      const details = { reason: "restored" };
      await record(tx, { by: system, owner, action: "login.revoke", id, name, details }, now);
    }
    for (const { id, owner_id: owner, name } of await removeAllAccessTokens(tx)) {
      const details = { reason: "restored" };
      await record(
        tx,
        { by: system, owner, action: "access_token.revoke", id, name, details },
        now,
      );
    }
    for (const { id, space_id: owner, email: name } of await removeOpenInvitations(tx)) {
      const details = { reason: "restored" };
      await record(tx, { by: system, owner, action: "invitation.revoke", id, name, details }, now);
    }
    // Runs of schedules that wait: they may have had their job since the backup.
    await removeDueRuns(tx);
    await removeFact(tx, restorePending);
    await setFact(tx, restoredAt, String(now));
    return jobs.length;
  });
}

async function lockFor(tx: Queries, { id, spec_id }: JobRow, from: string, now: number) {
  if (spec_id === null || (await tx.first(findLock, { spec: spec_id }))) return;
  const info = {
    ID: id,
    Operation: "restore",
    Info: `held by job ${id} at the backup of ${from}; unlock after you have checked what it did`,
    Who: "windlass server restore",
    Version: "",
    Created: time(now),
    Path: "",
  };
  await addLock(tx, {
    spec_id,
    lock_id: id,
    job_id: id,
    info: JSON.stringify(info),
    created_at: now,
  });
}
