/**
 * Repeats what may succeed later, by p-retry; how long to wait is the caller's to say (`backoff`),
 * the server's wish included.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";

export interface RetryOptions {
  /** Ends the attempts and the wait between them. */
  readonly signal: AbortSignal;
  /**
   * Milliseconds until the next attempt; undefined gives up with this error. `attempt` counts from
   * 1.
   */
  next(error: unknown, attempt: number): number | undefined;
}

/**
 * What an attempt threw: p-retry by itself never repeats a TypeError, and takes nothing that is not
 * an Error.
 */
class AttemptError extends Error {}

/**
 * Calls `once` until it succeeds, `next` gives up, or the signal is aborted; throws what the last
 * attempt threw.
 */
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
