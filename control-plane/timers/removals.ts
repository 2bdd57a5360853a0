/** Finishes deletions of what has a long history. */
import { setTimeout as pause } from "node:timers/promises";
import type { Context } from "../services/context.ts";
import { finishDeletions } from "../services/removals.ts";
import { Turns } from "../services/storage/turns.ts";

const periodMilliseconds = 1000;

/** Looks at the start and every second until `stop`; a failed round is reported and tried again in the next. */
export async function finishRemovals(
  context: Context,
  stop: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  while (!stop.aborted) {
    try {
      await finishDeletions(context, new Turns(stop));
    } catch (error) {
      onError(error);
    }
    await pause(periodMilliseconds, undefined, { signal: stop }).catch(() => undefined);
  }
}
