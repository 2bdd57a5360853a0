/** Times on the wire, RFC 3339 text there, and in ids: epoch milliseconds here. */
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

/** Returns the beginning of the ids of a moment: their first 48 bits are the time. */
export function startOfIds(milliseconds: number): string {
  const hex = Math.max(0, Math.floor(milliseconds)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-`;
}

export const timeOfId = (id: string): number => parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
