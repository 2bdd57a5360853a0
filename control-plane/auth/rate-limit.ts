/** Counts refusals in windows of a minute, in bounded memory. */
import { Refusal } from "../problem.ts";

const windowMilliseconds = 60_000;
/** Beyond this many keys the oldest are forgotten: an attacker with many addresses must not fill the memory. */
const keysLimit = 100_000;

export interface RefusalLimit {
  /** Throws 429 when the key was refused too often in this minute. */
  check(key: string): void;
  /** Counts a refusal. */
  count(key: string): void;
}

/** At most `limit` refusals a minute for each key. */
export function refusalLimit(limit: number, now: () => number): RefusalLimit {
  const windows = new Map<string, { start: number; refused: number }>();
  const current = (key: string) => {
    const window = windows.get(key);
    return window && now() - window.start < windowMilliseconds ? window : undefined;
  };
  return {
    check: (key) => {
      const window = current(key);
      if (!window || window.refused < limit) return;
      const seconds = Math.ceil((window.start + windowMilliseconds - now()) / 1000);
      const detail = `too many refused attempts; try again in ${seconds} s`;
      throw new Refusal("too_many_requests", detail, {}, { "retry-after": String(seconds) });
    },
    count: (key) => {
      const window = current(key) ?? { start: now(), refused: 0 };
      window.refused += 1;
      windows.delete(key);
      windows.set(key, window);
      for (const [oldest] of windows) {
        if (windows.size <= keysLimit) break;
        windows.delete(oldest);
      }
    },
  };
}
