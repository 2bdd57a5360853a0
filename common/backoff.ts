/** How long to wait before the next try. Pure, so that a table can test it. */

export interface BackoffLimits {
  readonly first: number;
  readonly most: number;
}

/** The first retries are quick, for a restart; a server that is away is asked twice a minute. */
export const retryLimits = (most = 30_000): BackoffLimits => ({ first: Math.min(250, most), most });

/**
 * Milliseconds before try `tries + 1`. Doubles, half of it random, so that a thousand agents do not
 * return at once. `retryAfter` (seconds) is never undercut.
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

/** Half to one and a half of the mean, for a server that does not let a request wait. */
export const pollDelay = (mean: number, random: number): number => mean * (0.5 + random);
