/** What a program repeats while it runs. */
import { setTimeout as pause } from "node:timers/promises";

/**
 * Runs at once and again, `period` milliseconds after each end, until `stop`. A failure goes to
 * `onError` and ends nothing. Resolves when the last round has ended.
 */
export async function every(
  period: number,
  round: () => unknown,
  stop: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  while (!stop.aborted) {
    try {
      await round();
    } catch (error) {
      onError(error);
    }
    await pause(period, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** First after one period, until the returned function is called. Keeps no process alive. */
export function ticking(period: number, tick: () => void): () => void {
  const timer = setInterval(tick, period).unref();
  return () => clearInterval(timer);
}
