import type { Job } from "../../../protocol/jobs.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import { findRuns, findRunsOfWorkers, type RunRow } from "../../store/jobs/runs.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { countsOf } from "./views.ts";

/** A page may show a thousand: the times stay epoch milliseconds. */
export type Run = Pick<
  Job,
  "id" | "job_type" | "status" | "created_by" | "changes" | "failed_checks"
> &
  Pick<RunRow, "created_at" | "started_at" | "ended_at"> &
  Pick<PlanOptions, "destroy">;

const runsShown = 30;

/** The runs of configurations or workers by their ids; of one without runs there are none. */
export type Runs = ReadonlyMap<string, readonly Run[]>;

/** Newest first, in one statement. The caller has checked access and bounds the list. */
export async function listRuns(
  { store }: Context,
  configurations: readonly string[],
  limit = runsShown,
): Promise<Runs> {
  if (configurations.length === 0) return new Map();
  const specs = JSON.stringify(configurations);
  const rows = await store.read.all(findRuns, { specs, limit });
  return runsBy(rows, "spec_id");
}

/** The same of workers; of those of the caller's space. */
export async function listRunsOfWorkers(
  { store }: Context,
  { space_id: owner }: UserCaller,
  ids: readonly string[],
): Promise<Runs> {
  if (ids.length === 0) return new Map();
  const workers = JSON.stringify(ids);
  const rows = await store.read.all(findRunsOfWorkers, { workers, owner, limit: runsShown });
  return runsBy(rows, "worker_id");
}

const runsBy = (rows: readonly RunRow[], column: "spec_id" | "worker_id"): Runs =>
  new Map(
    [...Map.groupBy(rows, (row) => row[column] ?? "")].map(([id, runs]) => [id, runs.map(runOf)]),
  );

const runOf = (row: RunRow): Run => ({
  id: row.id,
  job_type: row.job_type,
  status: row.status,
  created_by: row.created_by,
  destroy: row.destroys === 1,
  changes: countsOf(row.changes),
  failed_checks: row.failed_checks,
  created_at: row.created_at,
  started_at: row.started_at,
  ended_at: row.ended_at,
});
