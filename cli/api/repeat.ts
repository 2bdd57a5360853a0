/** Repeats requests that failed for a reason that passes. */
import { backoff } from "../../common/backoff.ts";
import { retry } from "../../common/retry.ts";
import { second } from "../../common/units.ts";
import { ProblemError } from "../../protocol/transport.ts";
import { isCut } from "./failures.ts";

/** A server that refuses for longer is away for longer than a user wants to wait unasked. */
const patience = 30 * second;
const pauses = { first: 250, most: 4 * second } as const;
/** How often a read is repeated whose connection was cut, or that a proxy could not forward. */
const mostCuts = 3;

export interface Repeating {
  readonly signal: AbortSignal;
  /** Whether the request only reads. */
  readonly isRead: boolean;
  /** Called once, before the first wait. */
  onWait(error: Error): void;
}

/**
 * For half a minute after `Retry-After`: such a refusal has changed nothing. A request that was cut
 * off may have been carried out, so only reads are repeated then.
 */
export function repeated<T>(
  once: () => Promise<T>,
  { signal, isRead, onWait }: Repeating,
): Promise<T> {
  const since = performance.now();
  let cuts = 0;
  return retry(once, {
    signal,
    next: (error, tries) => {
      const isRefused = error instanceof ProblemError && error.status === 503;
      const wish = isRefused ? error.retryAfter : undefined;
      const isLost = isRead && (isCut(error) || isBadGateway(error));
      if (wish === undefined && !(isLost && ++cuts <= mostCuts)) return undefined;
      const delay = backoff(tries, Math.random(), wish, pauses);
      if (performance.now() - since + delay > patience) return undefined;
      if (tries === 1) onWait(error as Error);
      return delay;
    },
  });
}

/** A proxy that cannot reach a server. */
const isBadGateway = (error: unknown): boolean =>
  error instanceof ProblemError && [502, 503, 504].includes(error.status);
