/** The mark of a move of all data to this store that is not complete. */
import { ConfigError } from "../../common/settings/config-error.ts";
import type { Store } from "../store/db.ts";
import { findFact, moveMark } from "../store/facts.ts";

/** Throws if a move to this store was interrupted. */
export async function refuseHalfMoved(store: Store): Promise<void> {
  const from = await findFact(store.read, moveMark);
  if (from !== undefined)
    throw new ConfigError(
      `the data of ${from} was not moved completely to this database: run "windlass server migrate-store" again, with the same places`,
    );
}
