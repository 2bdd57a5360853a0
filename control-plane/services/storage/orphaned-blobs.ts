/** Blobs that retention or a crash left without a row. Never while a backup reads them. */
import { isBackupRunning } from "../../store/facts.ts";
import {
  addUnnamed,
  findDue,
  findUnnamed,
  findUnnoted,
  removeUnnamed,
} from "../../store/storage/orphaned-blobs.ts";
import { asSystem } from "../../store/spaces.ts";
import type { Context } from "../context.ts";
import type { Turns } from "./turns.ts";
import { day, hour } from "../../../common/units.ts";

/** A blob exists before its row does. No blob takes nearly this long to get its row. */
const youngMilliseconds = hour;
/** This database may be the wrong one, or one that an operator is about to replace. */
const strangerMilliseconds = 7 * day;
const blobsPerTurn = 100;

export async function deleteUnnamedBlobs(
  { store, blobs, now }: Context,
  turns: Turns,
): Promise<number> {
  let deleted = 0;
  while (await turns.next()) {
    const due = (await store.read.all(findDue, { now: now(), limit: blobsPerTurn })).map(nameOf);
    if (due.length === 0 || (await isBackupRunning(store.read, now()))) break;
    const unnamed = await store.read.all(findUnnamed, { names: JSON.stringify(due) });
    for (const { blob } of unnamed) await blobs.delete(blob);
    await store.write((tx) => removeUnnamed(tx, due));
    deleted += unnamed.length;
    if (due.length < blobsPerTurn) break;
  }
  return deleted;
}

/** Records orphaned blobs, which are deleted if they are still orphaned a week later. */
export async function noteStrangers({ store, blobs, now }: Context, turns: Turns): Promise<void> {
  for await (const page of blobs.list()) {
    for (let at = 0; at < page.length; at += blobsPerTurn) {
      if (!(await turns.next())) return;
      const names = JSON.stringify(page.slice(at, at + blobsPerTurn));
      const unnamed = (await store.read.all(findUnnamed, { names })).map(nameOf);
      const unnoted = await store.read.all(findUnnoted, { names: JSON.stringify(unnamed) });
      const old: string[] = [];
      for (const { blob } of unnoted)
        if ((await blobs.writtenAt(blob)) < now() - youngMilliseconds) old.push(blob);
      if (old.length > 0)
        await store.write((tx) => addUnnamed(tx, old, now() + strangerMilliseconds));
    }
  }
}

/**
 * Deletes those of these blobs that no row names any longer: spaces share an archive after a zone
 * has moved. While a backup runs they are left for retention.
 */
export async function forget(
  { store, blobs, now }: Pick<Context, "store" | "blobs" | "now">,
  candidates: readonly string[],
): Promise<void> {
  if (candidates.length === 0 || (await isBackupRunning(store.read, now()))) return;
  // As the system: a person does not see what other spaces name.
  await asSystem(async () => {
    const unnamed = await store.read.all(findUnnamed, { names: JSON.stringify(candidates) });
    for (const { blob } of unnamed) await blobs.delete(blob);
    await store.write((tx) => removeUnnamed(tx, candidates));
  });
}

const nameOf = ({ blob }: { blob: string }): string => blob;
