/** Times on the wire: RFC 3339 text there, epoch milliseconds here. */
import { invalid } from "./refusal.ts";

/** Epoch milliseconds. Refuses RFC 3339 times that do not exist here, such as leap seconds. */
export function momentOf(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const moment = Date.parse(text);
  if (Number.isNaN(moment)) throw invalid(field, "is not a valid date");
  return moment;
}

export const time = (milliseconds: number): string => new Date(milliseconds).toISOString();

export const timeOrNull = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : time(milliseconds);
