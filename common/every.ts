/** What a program repeats while it runs. */
import { setTimeout as pause } from "node:timers/promises";

/**
 * Runs a round at once and then again, `period` milliseconds after its end, until `stop`. A round
 * that fails is passed to `onError` and run again like any other. Resolves when the last round has
 * ended.
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

/**
 * Calls `tick` every `period` milliseconds, first after one, until the returned function is called.
 * It keeps no process alive. For what ends at once: calls that wait would overlap.
 */
export function ticking(period: number, tick: () => void): () => void {
  const timer = setInterval(tick, period).unref();
  return () => clearInterval(timer);
}
