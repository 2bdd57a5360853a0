/** Configurations that need a person: failed, with failed checks, or with a state left locked. */
import type { Configuration } from "../../../protocol/configurations.ts";
import {
  countDrifted,
  findDriftedOf,
  listDrifted,
  listSpecIdsByDrift,
} from "../../store/configurations/drift.ts";
import { listFailedSpecs, listWarnedSpecs } from "../../store/configurations/summaries.ts";
import { findLastDeployment } from "../../store/jobs/jobs.ts";
import { findLeftLocks } from "../../store/states/states.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { onlySeen, seesWholeSpace } from "../teams/spaces.ts";
import { time } from "../../domain/moments.ts";
import { findFailedJob, shownError } from "./failed-job.ts";

export type FailedConfiguration = Pick<
  Configuration,
  "id" | "name" | "status" | "error_message"
> & { readonly failed_job: NonNullable<Configuration["failed_job"]> };

export interface LockedConfiguration extends Pick<Configuration, "id" | "name"> {
  readonly locked_at: string;
}

export async function listFailedConfigurations(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<FailedConfiguration[]> {
  const rows = await listFailedSpecs(read, owner, limit);
  const found = await Promise.all(
    rows.map(async ({ id, name, status, ...row }) => ({
      id,
      name,
      status,
      error_message: shownError({ status, ...row }),
      failed_job: await findFailedJob(read, row),
    })),
  );
  return found.flatMap(({ failed_job, ...one }) => (failed_job ? [{ ...one, failed_job }] : []));
}

export interface WarnedConfiguration extends Pick<Configuration, "id" | "name"> {
  readonly failed_checks: number;
  /** The deployment after which they failed. */
  readonly job_id: string;
}

/** Those whose last deployment succeeded with checks that fail. */
export async function listWarnedConfigurations(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<WarnedConfiguration[]> {
  const rows = await listWarnedSpecs(read, owner, limit);
  const found = await Promise.all(
    rows.map(async (row) => ({
      ...row,
      job: await read.first(findLastDeployment, { spec: row.id }),
    })),
  );
  return found.flatMap(({ job, failed_checks, ...one }) =>
    job && failed_checks !== null ? { ...one, failed_checks, job_id: job.id } : [],
  );
}

export interface DriftedConfiguration extends Pick<Configuration, "id" | "name"> {
  readonly resources: number;
  readonly since: string;
}

export async function listDriftedConfigurations(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<DriftedConfiguration[]> {
  const rows = await listDrifted(read, owner, limit);
  return rows.map(({ id, name, drift_resources: resources, drift_since }) => ({
    id,
    name,
    resources,
    since: time(drift_since),
  }));
}

export async function countDriftedConfigurations(
  { store: { read } }: Context,
  caller: UserCaller,
  limit: number,
): Promise<number> {
  const { space_id: owner } = caller;
  if (!seesWholeSpace(caller))
    return (await listSpecIdsByDrift(read, owner, "drifted", undefined, limit)).length;
  return (await read.first(countDrifted, { owner, limit }))?.count ?? 0;
}

/** Which of these have drifted. */
export const findDriftedAmong = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  ids: readonly string[],
): Promise<ReadonlySet<string>> => findDriftedOf(read, owner, ids);

export async function listLockedConfigurations(
  context: Context,
  caller: UserCaller,
  limit: number,
): Promise<LockedConfiguration[]> {
  const { read } = context.store;
  const list = (most: number) => read.all(findLeftLocks, { owner: caller.space_id, limit: most });
  const rows = await onlySeen(context, caller, list, limit);
  return rows.map(({ id, name, created_at }) => ({ id, name, locked_at: time(created_at) }));
}
