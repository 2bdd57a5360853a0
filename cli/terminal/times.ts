/** Formats times and durations. */

/** Formats a time in the local time zone, with its offset; `-` if there is none. */
export function time(text: string | null | undefined): string {
  if (!text) return "-";
  const at = new Date(text);
  const date = [at.getFullYear(), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join("-");
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
  return `${date} ${clock} ${zoneOf(at)}`;
}

const twoDigits = (value: number): string => String(value).padStart(2, "0");

function zoneOf(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  const rest = size % 60 === 0 ? "" : `:${twoDigits(size % 60)}`;
  return `UTC${minutes < 0 ? "-" : "+"}${Math.floor(size / 60)}${rest}`;
}

/** Formats a duration in its two largest units, such as `1h 5m`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const units: [size: number, name: string][] = [
    [86_400, "d"],
    [3600, "h"],
    [60, "m"],
    [1, "s"],
  ];
  const at = units.findIndex(([size]) => seconds >= size);
  if (at < 0) return "0s";
  const [[size, name] = [1, "s"], next] = [units[at], units[at + 1]];
  const first = `${Math.floor(seconds / size)}${name}`;
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  return next && rest > 0 ? `${first} ${rest}${next[1]}` : first;
}

/** Formats how long something took, with tenths below ten seconds: `0.4s`. */
export const shortDuration = (milliseconds: number): string =>
  milliseconds < 9950 ? `${(milliseconds / 1000).toFixed(1)}s` : duration(milliseconds);

/** Formats the time since then, such as `5m ago`; `-` if there is none. */
export const ago = (text: string | null | undefined): string =>
  text ? `${duration(Date.now() - Date.parse(text))} ago` : "-";

/** Formats the time until then, such as `in 5m`. */
export const until = (text: string): string => `in ${duration(Date.parse(text) - Date.now())}`;

/** Formats a time and how long ago or ahead it is. */
export const timeAndDistance = (text: string): string =>
  `${time(text)} (${Date.parse(text) > Date.now() ? until(text) : ago(text)})`;

/** Formats a time without seconds as a clock there shows it, with the zone's name. */
export function timeIn(timeZone: string, text: string): string {
  try {
    const format = new Intl.DateTimeFormat("sv-SE", {
      timeZone,
      dateStyle: "short",
      timeStyle: "short",
    });
    return `${format.format(new Date(text))} ${timeZone}`;
  } catch (error) {
    // This machine does not know a zone that the server knows.
    if (error instanceof RangeError) return time(text);
    throw error;
  }
}

/** Formats a time and how long ago it was. */
export const timeAndAge = (text: string | null): string => `${time(text)} (${ago(text)})`;
