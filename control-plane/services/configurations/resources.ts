/** The resources that the managed state of a configuration records. */
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findState } from "../../store/states/states.ts";

/**
 * The resources in the managed state exist; without the state, terraform could not destroy them.
 * Returns their number if `saved` is the serial of that state. `instead` continues the sentence that
 * says to destroy them.
 */
export async function refuseResources(
  tx: Queries,
  { id: spec }: { readonly id: string },
  { saved, instead = "" }: { readonly saved?: number | undefined; readonly instead?: string } = {},
): Promise<number> {
  const state = await tx.first(findState, { spec });
  if (saved !== undefined && state?.serial !== saved)
    throw new RefusalError(
      "state_conflict",
      state
        ? `the newest version of its state has the serial ${state.serial}, not ${saved}`
        : "it has no state",
    );
  if (saved === undefined && state && state.resources > 0)
    throw new RefusalError(
      "configuration_not_empty",
      `its managed state records ${state.resources} ${state.resources === 1 ? "resource" : "resources"}: destroy them first${instead}`,
    );
  return state?.resources ?? 0;
}
