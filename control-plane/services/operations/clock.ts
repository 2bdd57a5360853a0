/**
 * The server's clock: epoch milliseconds that run with the monotonic clock. A step of the machine's wall clock moves it only when
 * `shift` says so, at a moment at which the times in the store are moved too (services/operations/clock-steps.ts).
 */
export interface Clock {
  now(): number;
  /** How far the wall clock is ahead of this one; negative: behind. */
  ahead(): number;
  /** Moves this clock. */
  shift(milliseconds: number): void;
}

/** A clock that starts at the wall clock's time. */
export function steadyClock(): Clock {
  let offset = Date.now() - performance.now();
  const now = () => Math.round(performance.now() + offset);
  return {
    now,
    ahead: () => Date.now() - now(),
    shift: (milliseconds) => void (offset += milliseconds),
  };
}
