/** How long to wait before the next try. Pure, so that a table can test it. */

export interface BackoffLimits {
  readonly first: number;
  readonly most: number;
}

/**
 * A restarting server is back within seconds, so the first retries are quick; one that is away for
 * hours is asked twice a minute.
 */
export const retryLimits = (most = 30_000): BackoffLimits => ({ first: Math.min(250, most), most });

/**
 * Milliseconds before try number `tries + 1`. It doubles, and half of it is random, so that a
 * thousand agents do not come back in the same moment. `retryAfter` (seconds) is the server's own
 * wish and is never undercut.
 */
export function backoff(
  tries: number,
  random: number,
  retryAfter = 0,
  { first, most }: BackoffLimits = retryLimits(),
): number {
  const full = Math.min(most, first * 2 ** Math.min(tries - 1, 30));
  return Math.max(full * (0.5 + random / 2), retryAfter * 1000);
}

/**
 * Between half and one and a half of the mean: for polling a server that does not let a request
 * wait.
 */
export const pollDelay = (mean: number, random: number): number => mean * (0.5 + random);
