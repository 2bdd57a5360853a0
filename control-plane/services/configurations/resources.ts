/** The resources that the managed state of a configuration records. */
import { resourcesText } from "../../../protocol/words.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findState } from "../../store/states/states.ts";

/**
 * The resources in the managed state exist; without the state, terraform could not destroy them. A
 * state that the server cannot read may record some. Returns their number, null if it is not known,
 * if `saved` is the serial of that state. `instead` continues the sentence that says to destroy them.
 */
export async function refuseResources(
  tx: Queries,
  { id: spec }: { readonly id: string },
  { saved, instead = "" }: { readonly saved?: number | undefined; readonly instead?: string } = {},
): Promise<number | null> {
  const state = await tx.first(findState, { spec });
  if (saved !== undefined && state?.serial !== saved)
    throw new RefusalError(
      "state_conflict",
      state
        ? `the newest version of its state has the serial ${state.serial}, not ${saved}`
        : "it has no state",
    );
  const count = state ? state.resource_count : 0;
  if (saved === undefined && count !== 0)
    throw new RefusalError(
      "configuration_not_empty",
      `its managed state records ${resourcesText(count)}: destroy them first${instead}`,
    );
  return count;
}
