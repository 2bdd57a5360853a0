/**
 * Lets the jobs of a moved zone follow it: the move itself takes the zone, its configurations and
 * the jobs that matter now, and small transactions take the rest. A fact says what is left to do, so
 * a crash forgets nothing, and several servers may work at it. Until the end, a job that has not
 * followed is found in the space from which the zone came, and the zone can be neither moved nor
 * deleted.
 */
import { RefusalError } from "../../domain/refusal.ts";
import { listSpecIdsOfZone } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { asSystem } from "../../store/spaces.ts";
import {
  endMove,
  isCurrentMove,
  isMoving,
  listJobsOfSpec,
  listJobsOfZone,
  listUnfinishedMoves,
  moveSomeJobs,
  type ZoneMove,
} from "../../store/zones/moves.ts";
import type { Context } from "../context.ts";
import { Turns } from "./turns.ts";

/** Jobs that follow in one transaction: about 10 ms of the writer. */
export const jobsPerTurn = 200;
const specsPerPage = 200;

/** Ends early, between two turns, when `stop` is aborted. */
export const finishMoves = ({ store }: Context, stop?: AbortSignal): Promise<void> =>
  asSystem(async () => {
    for (const move of await listUnfinishedMoves(store.read)) {
      if (stop?.aborted) return;
      await finishMove(store, move, new Turns(stop));
    }
  });

/** Throws 409 while jobs of a zone have not followed it. */
export async function refuseMoving(queries: Queries, zone: string): Promise<void> {
  if (await isMoving(queries, zone))
    throw new RefusalError(
      "zone_busy",
      "the zone was moved from another space a moment ago, and its older jobs still follow it: try again in a minute",
    );
}

async function finishMove(store: Context["store"], move: ZoneMove, turns: Turns): Promise<void> {
  const { zone, from } = move;
  /** False when another process has ended the move. */
  const take = (ids: readonly string[]) =>
    store.write(async (tx) => {
      if (!(await isCurrentMove(tx, move))) return false;
      await moveSomeJobs(tx, move, ids);
      return true;
    });
  // Wherever they ran.
  let after: string | undefined;
  for (;;) {
    const specs = await listSpecIdsOfZone(store.read, { owner: "", zone }, after, specsPerPage);
    for (const spec of specs) {
      let before = afterAllIds;
      for (;;) {
        const page = await store.read.all(listJobsOfSpec, { spec, before, limit: jobsPerTurn });
        const left = page.filter(({ owner_id }) => owner_id === from);
        if (left.length > 0) {
          if (!(await turns.next())) return;
          if (!(await take(left.map(({ id }) => id)))) return;
        } else if (!(await turns.nextRead())) return;
        if (page.length < jobsPerTurn) break;
        before = page.at(-1)!.id;
      }
    }
    if (specs.length < specsPerPage) break;
    after = specs.at(-1);
  }
  // Of deleted configurations, and of those that are in another zone by now.
  for (;;) {
    const page = await store.read.all(listJobsOfZone, { owner: from, zone, limit: jobsPerTurn });
    if (page.length > 0) {
      if (!(await turns.next())) return;
      if (!(await take(page.map(({ id }) => id)))) return;
    }
    if (page.length < jobsPerTurn) break;
  }
  await store.write(async (tx) => {
    if (await isCurrentMove(tx, move)) await endMove(tx, zone);
  });
}

/** Ids are UUIDs in small letters. */
const afterAllIds = "g";
