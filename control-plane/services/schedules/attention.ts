/** Schedules that need a person, and configurations that end soon. */
import { day } from "../../../common/units.ts";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { Schedule } from "../../../protocol/schedules.ts";
import { time } from "../../domain/moments.ts";
import {
  findComingEnds,
  findFailedEnds,
  findSkippedSchedules,
  listSchedules as listRows,
} from "../../store/schedules/schedules.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { onlySeen, seesWholeSpace } from "../teams/spaces.ts";
import { schedulesLimit } from "./schedules.ts";

export interface SkippedSchedule extends Pick<Schedule, "id" | "name"> {
  readonly at: string;
  readonly reason: string;
}

export async function listSkippedSchedules(
  { store: { read } }: Context,
  caller: UserCaller,
  limit: number,
): Promise<SkippedSchedule[]> {
  const { space_id: owner } = caller;
  const all = await read.all(findSkippedSchedules, {
    owner,
    limit: seesWholeSpace(caller) ? limit : schedulesLimit,
  });
  const seen = seesWholeSpace(caller)
    ? all
    : await listRows(read, owner, {}, undefined, schedulesLimit);
  const ids = new Set(seen.map(({ id }) => id));
  const rows = all.filter(({ id }) => ids.has(id)).slice(0, limit);
  return rows.map(({ id, name, last_at, last_skipped }) => ({
    id,
    name,
    at: time(last_at ?? 0),
    reason: last_skipped ?? "",
  }));
}

export interface EndingConfiguration extends Pick<Configuration, "id" | "name"> {
  readonly at: string;
  /** Why its end has destroyed nothing; null: it comes yet. */
  readonly reason: string | null;
}

/** Those whose resources will be destroyed within a day, or were to be and are not. */
export async function listEndingConfigurations(
  context: Context,
  caller: UserCaller,
  limit: number,
): Promise<EndingConfiguration[]> {
  const { space_id: owner } = caller;
  const { read } = context.store;
  const until = context.now() + day;
  const ends = async (most: number) =>
    (
      await Promise.all([
        read.all(findFailedEnds, { owner, limit: most }),
        read.all(findComingEnds, { owner, until, limit: most }),
      ])
    ).flat();
  const rows = await onlySeen(context, caller, ends, limit);
  return rows.slice(0, limit).map(({ id, name, moment, last_at, ...row }) => ({
    id,
    name,
    at: time(moment ?? last_at ?? 0),
    reason: moment === null ? row.last_skipped : null,
  }));
}
