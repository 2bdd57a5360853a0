/** The last runs of a configuration. */
import type { Job } from "../../../protocol/jobs.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import { findRuns } from "../../store/jobs/runs.ts";
import type { Context } from "../context.ts";
import { countsOf, time, timeOrNull } from "./views.ts";

/** One of them, without its details. */
export type Run = Pick<
  Job,
  "id" | "job_type" | "status" | "created_by" | "changes" | "created_at" | "started_at" | "ended_at"
> &
  Pick<PlanOptions, "destroy">;

/** How many runs a strip shows. */
const runsShown = 30;

/** The newest jobs of a configuration, newest first. The caller has checked access. */
export async function listRuns({ store }: Context, configuration: string): Promise<Run[]> {
  const rows = await store.read.all(findRuns, { spec: configuration, limit: runsShown });
  return rows.map(({ destroys, ...row }) => ({
    ...row,
    destroy: destroys === 1,
    changes: countsOf(row.changes),
    created_at: time(row.created_at),
    started_at: timeOrNull(row.started_at),
    ended_at: timeOrNull(row.ended_at),
  }));
}
