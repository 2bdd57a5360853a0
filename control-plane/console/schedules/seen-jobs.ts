/** Schedules without jobs that the reader does not see. */
import type { Schedule } from "../../../protocol/schedules.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import { actingOn, seesWholeSpace } from "../../services/teams/spaces.ts";

/** A job is seen with its configuration, which may have left the zone of the schedule. */
export const withSeenJobs = async (
  context: Context,
  caller: UserCaller,
  schedules: readonly Schedule[],
): Promise<Schedule[]> =>
  seesWholeSpace(caller)
    ? [...schedules]
    : Promise.all(schedules.map((schedule) => withSeenJob(context, caller, schedule)));

async function withSeenJob(
  context: Context,
  caller: UserCaller,
  schedule: Schedule,
): Promise<Schedule> {
  const { last } = schedule;
  if (last?.job_id === undefined) return schedule;
  const { job_id: id, ...rest } = last;
  try {
    await actingOn(context, caller, { kind: "jobs", id }, true);
    return schedule;
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    return { ...schedule, last: rest };
  }
}
