/** Removes old logs, plan artifacts, archives and state versions. What stays: services/storage/retention.ts. */
import { setTimeout as pause } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import { roundMilliseconds } from "../domain/retention.ts";
import type { Context } from "../services/context.ts";
import { retainOnce } from "../services/storage/retention.ts";

/** One round at the start and one every hour until `stop`; a failed round is reported and tried again in the next. */
export async function keepRetention(
  context: Context,
  stop: AbortSignal,
  log: FastifyBaseLogger,
): Promise<void> {
  while (!stop.aborted) {
    try {
      const removed = await retainOnce(context, stop);
      if (Object.values(removed).some((count) => count > 0))
        log.info({ removed }, "retention removed what was old and needed by nothing");
    } catch (error) {
      log.error({ err: error }, "a round of retention failed; it is tried again");
    }
    await pause(roundMilliseconds(context.retention), undefined, { signal: stop }).catch(
      () => undefined,
    );
  }
}
