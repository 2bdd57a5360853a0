/** Keeps the write-ahead log short, whatever made it long: another process that reads, one very large change, a full disk. */
import { setTimeout as pause } from "node:timers/promises";
import type { Context } from "../services/context.ts";

const periodMilliseconds = 5000;

/** Looks every five seconds until `stop`; a failed round is reported and tried again in the next. */
export async function boundWal(
  { store }: Pick<Context, "store">,
  stop: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  while (!stop.aborted) {
    try {
      store.boundWal();
    } catch (error) {
      onError(error);
    }
    await pause(periodMilliseconds, undefined, { signal: stop }).catch(() => undefined);
  }
}
