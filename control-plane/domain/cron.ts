/**
 * When a cron expression comes next. croner knows the calendar and is asked in UTC only, as if clocks
 * were never set; what daylight saving does to a time of the clock is decided here.
 */
import { Cron } from "croner";
import { cronFields, isAny } from "../../common/cron.ts";
import { day, hour, minute } from "../../common/units.ts";
import { invalid } from "./refusal.ts";

const longestMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

interface CronTimes {
  /** The first moment after this one; null: none before the year 10000. Epoch milliseconds. */
  nextAfter(moment: number): number | null;
}

/** Throws 400 unless both are valid and the expression comes at some time. */
export function parseCron(expression: string, timezone: string): CronTimes {
  const { parts, values } = cronFields(expression, (problem) => {
    throw invalid("body.cron", problem);
  });
  const [, hours = "", days = "", , weekdays = ""] = parts;
  const [, , daysOfMonth = [], months = []] = values;
  const isWeekday = !isAny(weekdays);
  if (
    !isAny(days) &&
    !isWeekday &&
    !months.some((one) => daysOfMonth[0]! <= longestMonth[one - 1]!)
  )
    throw invalid("body.cron", "names a date that never comes");
  // As lists of numbers: a star only where every day is meant, because croner decides by it.
  const calendar = new Cron(
    values.map((list, index) => (isAny(parts[index]!) ? "*" : list.join(","))).join(" "),
    { mode: "5-part", timezone: "UTC", domAndDow: false },
  );
  const next = (wall: number): number | null => calendar.nextRun(new Date(wall))?.getTime() ?? null;
  const offset = offsetsOf(timezone);
  return {
    nextAfter: /[*/]/.test(hours)
      ? (moment) => nextReal(next, offset, moment)
      : (moment) => nextFixed(next, offset, moment),
  };
}

type Offset = (moment: number) => number;

/** Throws 400 unless it is a name of the IANA database. */
function offsetsOf(timezone: string): Offset {
  const format = formatOf(timezone);
  return (moment) => {
    const parts: Partial<Record<string, number>> = {};
    for (const { type, value } of format.formatToParts(moment)) parts[type] = Number(value);
    const {
      year = 0,
      month = 1,
      day: date = 1,
      hour: hours = 0,
      minute: minutes = 0,
      second = 0,
    } = parts;
    return (
      Date.UTC(year, month - 1, date, hours, minutes, second) - Math.floor(moment / 1000) * 1000
    );
  };
}

const formats = new Map<string, Intl.DateTimeFormat>();
/** Names are few; a longer list would be made of spellings. */
const formatsLimit = 1000;

function formatOf(timezone: string): Intl.DateTimeFormat {
  const known = formats.get(timezone);
  if (known) return known;
  let format;
  try {
    // Intl also knows offsets such as +01:00, which have no daylight saving.
    if (!/^[A-Za-z]/.test(timezone)) throw new RangeError();
    format = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", {
      timeZone: timezone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalid(
      "body.timezone",
      "must be a name of the IANA database, such as Europe/Berlin or UTC",
    );
  }
  if (formats.size >= formatsLimit) formats.clear();
  formats.set(timezone, format);
  return format;
}

/** The moment at which a clock of the zone shows a day and a time, such as `2026-12-01T02:00`. */
export function momentAt(timezone: string, wall: string): number | null {
  const shown = Date.parse(`${wall}Z`);
  // Date takes 30 February for 2 March.
  const exists = !Number.isNaN(shown) && new Date(shown).toISOString().startsWith(wall);
  return exists ? firstMoment(offsetsOf(timezone), shown) : null;
}

/** What a clock of the zone shows at a moment, to the minute. */
export const clockAt = (timezone: string, moment: number): string =>
  new Date(moment + offsetsOf(timezone)(moment)).toISOString().slice(0, 16);

type Next = (wall: number) => number | null;

/** Longer than a clock is ever set at one moment: Samoa left out a day. */
const longestStep = 25 * hour;

/**
 * With a fixed hour: a time that occurs twice counts the first time, and one that is skipped counts as
 * the moment of the skip. So each time of the clock is one moment, and both have the same order.
 */
function nextFixed(next: Next, offset: Offset, after: number): number | null {
  for (let wall = next(after + offset(after)); wall !== null; wall = next(wall)) {
    const moment = firstMoment(offset, wall);
    if (moment > after) return moment;
  }
  return null;
}

function firstMoment(offset: Offset, wall: number): number {
  const before = offset(wall - longestStep);
  const early = wall - before;
  if (offset(early) === before) return early;
  const late = wall - offset(wall + longestStep);
  if (late + offset(late) === wall) return late;
  // It is skipped: the moment at which the clock is set.
  return stepBetween(offset, Math.min(early, late) - 1, Math.max(early, late));
}

/** With any hour, or a step: every moment at which the clock shows a time that counts. */
function nextReal(next: Next, offset: Offset, after: number): number | null {
  let from = after;
  let shift = offset(from);
  for (;;) {
    const wall = next(from + shift);
    if (wall === null) return null;
    const moment = wall - shift;
    const end = Math.min(moment, from + 2 * day);
    // Two steps in two days that undo each other have never been.
    if (offset(end) !== shift) {
      from = stepBetween(offset, from, end);
      shift = offset(from);
      // That moment itself may count.
      from -= 1;
    } else if (moment === end) return moment;
    else {
      // Far away: from the day before on, whatever the clock shows by then.
      from = firstMoment(offset, wall) - longestStep;
      shift = offset(from);
    }
  }
}

/** The first moment of the offset that holds at `last`. Clocks are set at whole minutes. */
function stepBetween(offset: Offset, first: number, last: number): number {
  const target = offset(last);
  let [low, high] = [Math.floor(first / minute), Math.ceil(last / minute)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offset(middle * minute) === target) high = middle;
    else low = middle;
  }
  return high * minute;
}
