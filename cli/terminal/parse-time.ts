/** Reads times that users type. */
import { CliError } from "./output.ts";

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A day, or one with a time. Of much else, such as `10`, the parser of JavaScript makes a time too. */
const dayForm = /^(\d{4}-\d{2}-\d{2})([T ]\d.*)?$/;

/**
 * `24h`: that long ago; a day: its first moment here; a day with a time: local without an offset.
 * Throws CliError if the text is none of these.
 */
export const parseTime = (
  option: string,
  text: string | undefined,
  now = Date.now(),
): string | undefined =>
  text === undefined
    ? undefined
    : parse(option, text, now, -1, "a time such as 24h (ago)").toISOString();

/** As `parseTime`, but `24h` is that far ahead, and `none` is null. */
export const parseComingTime = (option: string, text: string, now = Date.now()): string | null =>
  text === "none"
    ? null
    : parse(option, text, now, 1, "none, or a time such as 7d (from now)").toISOString();

function parse(option: string, text: string, now: number, direction: 1 | -1, form: string): Date {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const moment =
    count === undefined
      ? momentOf(text)
      : new Date(now + direction * Number(count) * units[unit as keyof typeof units]);
  if (!Number.isNaN(moment.getTime())) return moment;
  throw new CliError(
    `${option} must be ${form}, 2026-01-31 or 2026-01-31T12:00Z, not "${text}"`,
    2,
  );
}

/** Returns an invalid date unless the text is a day that exists, or one with a time. */
function momentOf(text: string): Date {
  const [, day = "", time = "T00:00"] = dayForm.exec(text) ?? [];
  // The parser makes 3 March of 31 February.
  const start = new Date(day);
  const exists = !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day);
  return new Date(exists ? `${day}${time}` : Number.NaN);
}
