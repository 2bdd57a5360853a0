/** Counts refusals per minute, in bounded memory. */
import { isIPv6 } from "node:net";
import { RefusalError } from "../domain/refusal.ts";
import { minute } from "../../common/units.ts";

const windowMilliseconds = minute;
/** Beyond this the oldest keys are forgotten: many addresses must not fill the memory. */
const keysLimit = 100_000;

export interface RefusalLimit {
  /** Throws 429 if there were too many refusals in this minute. */
  check(): void;
  count(): void;
}

/** One IPv6 network has 2⁶⁴ addresses, so all of them count as one. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  const [head = "", tail = ""] = address.split("::");
  const left = head.split(":");
  const right = address.includes("::") && tail !== "" ? tail.split(":") : [];
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].slice(0, 4).join(":");
}

/** Wrong secrets of pipelines and registration tokens from one address in a minute. */
export const wrongSecretsLimit = 10;

/** `limit` refusals a minute for each key, by the monotonic clock. */
export function refusalLimits(
  limit: number,
  {
    now = () => performance.now(),
    counted = "refused attempts",
  }: { readonly now?: () => number; readonly counted?: string } = {},
): { of(key: string): RefusalLimit } {
  const windows = new Map<string, { start: number; refused: number }>();
  const current = (key: string) => {
    const window = windows.get(key);
    return window && now() - window.start < windowMilliseconds ? window : undefined;
  };
  return {
    of: (key) => ({ check: () => check(key), count: () => count(key) }),
  };

  function check(key: string) {
    const window = current(key);
    if (!window || window.refused < limit) return;
    const seconds = Math.ceil((window.start + windowMilliseconds - now()) / 1000);
    const detail = `too many ${counted}; try again in ${seconds} s`;
    throw new RefusalError("too_many_requests", detail, {}, { "retry-after": String(seconds) });
  }

  function count(key: string) {
    const window = current(key) ?? { start: now(), refused: 0 };
    window.refused += 1;
    windows.delete(key);
    windows.set(key, window);
    for (const [oldest] of windows) {
      if (windows.size <= keysLimit) break;
      windows.delete(oldest);
    }
  }
}
