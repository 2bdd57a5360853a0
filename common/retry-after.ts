import { hour, second } from "./units.ts";

/**
 * How long a server wants no request, in milliseconds, from its `Retry-After`: seconds or a date.
 * Undefined: it has none, or another text. A longer wait than `most` counts as that.
 */
export function retryAfter(header: unknown, most = hour, now = Date.now()): number | undefined {
  if (typeof header !== "string") return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * second : Date.parse(header) - now;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), most);
}
