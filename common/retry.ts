/** Repeats by p-retry what may succeed later; the caller says how long to wait (`backoff`). */
import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";

export interface RetryOptions {
  /** Ends the attempts and the wait between them. */
  readonly signal: AbortSignal;
  /** Milliseconds to the next attempt, counted from 1; undefined gives up with this error. */
  next(error: unknown, attempt: number): number | undefined;
}

/** p-retry never repeats a TypeError, and takes nothing that is not an Error. */
class AttemptError extends Error {}

/** Until it succeeds, `next` gives up or the signal is aborted: throws the last error. */
export async function retry<T>(
  once: (attempt: number) => Promise<T>,
  { signal, next }: RetryOptions,
): Promise<T> {
  signal.throwIfAborted();
  try {
    return await pRetry(
      async (attempt) => {
        try {
          return await once(attempt);
        } catch (cause) {
          throw new AttemptError("an attempt failed", { cause });
        }
      },
      {
        retries: Infinity,
        // The wait is ours: p-retry's knows no Retry-After.
        minTimeout: 0,
        shouldRetry: async ({ error: { cause }, attemptNumber }) => {
          if (signal.aborted) return false;
          const delay = next(cause, attemptNumber);
          if (delay === undefined) return false;
          await sleep(delay, undefined, { signal });
          return true;
        },
      },
    );
  } catch (error) {
    throw error instanceof AttemptError ? error.cause : error;
  }
}
