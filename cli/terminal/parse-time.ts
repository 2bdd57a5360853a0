/** Reads times that users type. */
import { CliError } from "./output.ts";

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Returns the time as the API takes it: of a length such as `24h`, that long ago; of a day, its first moment in the
 * local time zone; else of any time that ECMAScript parses, local without an offset.
 * @throws CliError if the text is none of these.
 */
export function parseTime(
  option: string,
  text: string | undefined,
  now = Date.now(),
): string | undefined {
  if (text === undefined) return undefined;
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const moment =
    count === undefined
      ? new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text)
      : new Date(now - Number(count) * units[unit as keyof typeof units]);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  throw new CliError(
    `${option} must be a time such as 24h (ago), 2026-01-31 or 2026-01-31T12:00Z, not "${text}"`,
    2,
  );
}
