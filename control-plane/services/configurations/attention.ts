/** Configurations that need a person: those that failed, and those whose state is left locked. */
import type { Configuration } from "../../../protocol/configurations.ts";
import { listFailedSpecs } from "../../store/configurations/summaries.ts";
import { findLeftLocks } from "../../store/states/states.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { time } from "../jobs/views.ts";

export type FailedConfiguration = Pick<
  Configuration,
  "id" | "name" | "error_message" | "updated_at"
>;

/** A configuration whose state a lost job has left locked. */
export interface LockedConfiguration extends Pick<Configuration, "id" | "name"> {
  readonly locked_at: string;
}

/** Returns the configurations that failed last. */
export async function listFailedConfigurations(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<FailedConfiguration[]> {
  const rows = await listFailedSpecs(read, owner, limit);
  return rows.map((row) => ({ ...row, updated_at: time(row.updated_at) }));
}

/** Returns configurations whose state is left locked. */
export async function listLockedConfigurations(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<LockedConfiguration[]> {
  const rows = await read.all(findLeftLocks, { owner, limit });
  return rows.map(({ id, name, created_at }) => ({ id, name, locked_at: time(created_at) }));
}
