/** Removes sign-in records and registration tokens long after they expired. */
import { setTimeout as pause } from "node:timers/promises";
import type { Context } from "../services/context.ts";
import { deleteExpired } from "../store/people/prune.ts";
import { day, hour } from "../../common/units.ts";

/** Kept so long after their end: a dead device code must stay dead for whoever still shows it. */
const graceMilliseconds = 30 * day;
/** Looks at the start and every hour until `stop`; a failed round is reported and tried again in the next. */
export async function pruneExpired(
  context: Context,
  stop: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  while (!stop.aborted) {
    try {
      await context.store.write((tx) => deleteExpired(tx, context.now() - graceMilliseconds));
    } catch (error) {
      onError(error);
    }
    await pause(hour, undefined, { signal: stop }).catch(() => undefined);
  }
}
