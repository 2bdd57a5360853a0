/** Schedules that need a person, and configurations that end soon. */
import { day } from "../../../common/units.ts";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { Schedule } from "../../../protocol/schedules.ts";
import { time } from "../../domain/moments.ts";
import {
  findComingEnds,
  findFailedEnds,
  findSkippedSchedules,
} from "../../store/schedules/schedules.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

export interface SkippedSchedule extends Pick<Schedule, "id" | "name"> {
  readonly at: string;
  readonly reason: string;
}

export async function listSkippedSchedules(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<SkippedSchedule[]> {
  const rows = await read.all(findSkippedSchedules, { owner, limit });
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
  { store: { read }, now }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<EndingConfiguration[]> {
  const [failed, coming] = await Promise.all([
    read.all(findFailedEnds, { owner, limit }),
    read.all(findComingEnds, { owner, until: now() + day, limit }),
  ]);
  return [...failed, ...coming].slice(0, limit).map(({ id, name, moment, last_at, ...row }) => ({
    id,
    name,
    at: time(moment ?? last_at ?? 0),
    reason: moment === null ? row.last_skipped : null,
  }));
}
