/** Derived from the newest managed state and the last job that succeeded. */
import type { Configuration, ConfigurationStatus } from "../../../protocol/configurations.ts";
import type { Deployed } from "../../../protocol/deployed.ts";
import { isDestruction, type JobRow } from "../../domain/job.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findCreatedBy, findLastDeployment } from "../../store/jobs/jobs.ts";
import { findState, type StateVersionRow } from "../../store/states/states.ts";
import { time } from "../../domain/moments.ts";

type StateBackend = NonNullable<Configuration["backend"]>;
type Spec = Pick<SpecRow, "id" | "deployed_backend">;

export async function findDeployed(
  queries: Queries,
  spec: Spec & Pick<SpecRow, "failed_checks">,
): Promise<Deployed | null> {
  const { state, last, status } = await read(queries, spec);
  if (status !== "DEPLOYED") return null;
  const { failed_checks } = spec;
  if (state)
    return {
      serial: state.serial,
      resources: state.resource_count,
      at: time(state.created_at),
      job_id: state.job_id,
      failed_checks,
      by: await findWriter(queries, state),
    };
  if (!last) return null;
  const { id: job_id, ended_at, created_by: by } = last;
  return { serial: null, resources: null, at: time(ended_at ?? 0), job_id, failed_checks, by };
}

/** As chosen, else where the last deployment kept it, else managed if there is one; else null. */
export async function findStateBackend(
  queries: Queries,
  { id: spec, deployed_backend }: Spec,
  chosen: StateBackend | undefined,
): Promise<StateBackend | null> {
  const known = chosen ?? deployed_backend;
  if (known) return known;
  return (await queries.first(findState, { spec })) ? "managed" : null;
}

/** Returns the status of a configuration by what is deployed, without its last failure. */
export const deployedStatus = async (queries: Queries, spec: Spec): Promise<ConfigurationStatus> =>
  (await read(queries, spec)).status;

async function read(queries: Queries, { id: spec, deployed_backend }: Spec) {
  const state = deployed_backend === "own" ? undefined : await queries.first(findState, { spec });
  const last = await queries.first(findLastDeployment, { spec });
  return { state, last, status: statusOfDeployed(state, last) };
}

/** Returns the status by the newest managed state and the last deployment that succeeded. */
export function statusOfDeployed(
  state: Pick<StateVersionRow, "resource_count"> | undefined,
  last: Pick<JobRow, "job_type" | "destroys"> | undefined,
): "DEPLOYED" | "DESTROYED" | "NEW" {
  const isRecorded = state !== undefined && state.resource_count !== 0;
  if (isRecorded || (last !== undefined && !isDestruction(last))) return "DEPLOYED";
  return last ? "DESTROYED" : "NEW";
}

/** The user who queued the job that wrote a state, or who rolled back to it or pushed it. */
async function findWriter(
  queries: Queries,
  { job_id, stored_by }: StateVersionRow,
): Promise<string | null> {
  if (job_id === null) return stored_by;
  return (await queries.first(findCreatedBy, { id: job_id }))?.created_by ?? null;
}
