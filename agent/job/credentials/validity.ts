/**
 * When credentials end, by the monotonic clock, which stands still during a sleep, and by the wall
 * clock, which can be changed: the first end counts.
 */
export interface Ends {
  readonly steady: number;
  readonly clock: number;
}

/** Returns the end of credentials that are valid for so many milliseconds from now. */
export const endsIn = (life: number): Ends => ({
  steady: performance.now() + life,
  clock: Date.now() + life,
});

/** Returns for how many milliseconds they are still valid. */
export const leftOf = ({ steady, clock }: Ends): number =>
  Math.max(0, Math.min(steady - performance.now(), clock - Date.now()));
