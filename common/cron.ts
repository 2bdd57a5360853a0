/** Cron expressions: what their fields are, and how people say them. */

interface CronField {
  readonly name: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly words: readonly string[];
}

const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const inThreeLetters = (names: readonly string[]) =>
  names.map((name) => name.slice(0, 3).toLowerCase());

const fields: readonly CronField[] = [
  { name: "minute", minimum: 0, maximum: 59, words: [] },
  { name: "hour", minimum: 0, maximum: 23, words: [] },
  { name: "day of the month", minimum: 1, maximum: 31, words: [] },
  { name: "month", minimum: 1, maximum: 12, words: inThreeLetters(months) },
  { name: "day of the week", minimum: 0, maximum: 7, words: inThreeLetters(weekdays) },
];

/** The five fields as they are written, and the values of each in their order. */
export function cronFields(
  expression: string,
  refuse: (problem: string) => never,
): { readonly parts: readonly string[]; readonly values: readonly number[][] } {
  const parts = expression.trim().split(/[ \t]+/);
  if (parts.length !== fields.length)
    refuse(
      "must have five fields: minute, hour, day of the month, month, day of the week, such as 0 6 * * 1-5",
    );
  return { parts, values: parts.map((part, index) => valuesOf(part, fields[index]!, refuse)) };
}

/** Whether a field of days leaves the day to the other one, as `*` and a step of 1 do. */
export const isAny = (part: string): boolean => part === "*" || part === "*/1";

function valuesOf(
  part: string,
  { name, minimum, maximum, words }: CronField,
  refuseExpression: (problem: string) => never,
): number[] {
  const refuse = (problem: string): never => refuseExpression(`the ${name} "${part}" ${problem}`);
  const read = (text: string): number => {
    const word = words.indexOf(text.toLowerCase());
    const value = word === -1 ? Number(text) : word + Math.min(minimum, 1);
    if (word === -1 && !/^\d{1,2}$/.test(text))
      return refuse(
        "must be made of numbers with * , - and /: seconds, macros, L, W, # and ? are not supported",
      );
    return value >= minimum && value <= maximum
      ? value
      : refuse(`must be from ${minimum} to ${maximum}`);
  };
  const found = new Set<number>();
  for (const item of part.split(",")) {
    const [range = "", step, ...more] = item.split("/");
    const [from = "", to, ...others] = range.split("-");
    const isStar = range === "*";
    if (more.length + others.length > 0 || (step !== undefined && !isStar && to === undefined))
      refuse("must be a list of *, */n, n, n-n or n-n/n");
    const by = step === undefined ? 1 : Number(step);
    if (!/^\d{1,2}$/.test(step ?? "1") || by < 1) refuse("has a step that is not 1 or more");
    const first = isStar ? minimum : read(from);
    const last = isStar ? maximum : read(to ?? from);
    if (last < first) refuse("has a range that ends before it begins");
    for (let value = first; value <= last; value += by) found.add(value);
  }
  // Sunday is 0 and 7.
  const all = words.length === 7 ? new Set([...found].map((value) => value % 7)) : found;
  return [...all].toSorted((a, b) => a - b);
}

/** Times of the clock that are named one by one. */
const namedTimes = 4;

/** Says when an expression comes, such as `Monday to Friday at 06:30`; undefined if it is not valid. */
export function cronText(expression: string): string | undefined {
  try {
    const { parts, values } = cronFields(expression, (problem) => {
      throw new RangeError(problem);
    });
    const [[, , days = "", , onWeekdays = ""], [minutes, hours, dates, inMonths, ofWeek]] = [
      parts,
      values as [number[], number[], number[], number[], number[]],
    ];
    const day = isAny(days)
      ? isAny(onWeekdays)
        ? ""
        : weekdaysText(ofWeek)
      : isAny(onWeekdays)
        ? datesText(dates)
        : `${datesText(dates)}, and ${weekdaysText(ofWeek)},`;
    const time = timeText(minutes, hours);
    const text = [day || (time.startsWith("at ") ? "every day" : ""), time, monthsText(inMonths)];
    const sentence = text.filter(Boolean).join(" ");
    return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function timeText(minutes: readonly number[], hours: readonly number[]): string {
  if (minutes.length * hours.length <= namedTimes)
    return `at ${listed(hours.flatMap((hour) => minutes.map((minute) => clock(hour, minute))))}`;
  const isAllDay = hours.length === 24;
  const often = stepText(minutes, 60, "minute");
  if (often !== undefined) return isAllDay ? often : `${often} of ${hoursText(hours)}`;
  const at =
    minutes.length === 1 && minutes[0] === 0
      ? "on the hour"
      : `at ${minutes.length === 1 ? "minute" : "minutes"} ${listed(ranges(minutes).map(numbers))}`;
  return `${stepText(hours, 24, "hour") ?? `in ${hoursText(hours)}`}, ${at}`;
}

/** Says that all values of a clock have the same distance; undefined if they have not. */
function stepText(values: readonly number[], all: number, unit: string): string | undefined {
  const step = all / values.length;
  const isEven = values.length > 1 && values.every((value, index) => value === index * step);
  return isEven ? (step === 1 ? `every ${unit}` : `every ${step} ${unit}s`) : undefined;
}

const hoursText = (hours: readonly number[]): string =>
  hours.length === 1
    ? `the hour from ${clock(hours[0]!, 0)}`
    : `the hours ${listed(ranges(hours).map(numbers))}`;

const datesText = (dates: readonly number[]): string =>
  `on ${dates.length === 1 ? "day" : "days"} ${listed(ranges(dates).map(numbers))} of the month`;

function weekdaysText(days: readonly number[]): string {
  if (days.length === weekdays.length) return "every day";
  // A week that begins on Monday has its end in one range.
  const [[first, last] = [0, 0], ...others] = ranges(
    days.map((day) => (day + 6) % 7).toSorted((a, b) => a - b),
  );
  const name = (day: number): string => weekdays[(day + 1) % 7]!;
  return others.length === 0 && last - first > 1
    ? `${name(first)} to ${name(last)}`
    : `on ${listed(days.toSorted((a, b) => ((a + 6) % 7) - ((b + 6) % 7)).map((day) => `${weekdays[day]}s`))}`;
}

const monthsText = (all: readonly number[]): string =>
  all.length === months.length
    ? ""
    : `in ${listed(
        ranges(all).map(([first, last]) => {
          const [from, to] = [months[first - 1], months[last - 1]];
          return first === last ? `${from}` : `${from} to ${to}`;
        }),
      )}`;

type Range = readonly [first: number, last: number];

/** Consecutive values as one range; two stay two. */
function ranges(values: readonly number[]): Range[] {
  const found: [number, number][] = [];
  for (const value of values) {
    const last = found.at(-1);
    if (last?.[1] === value - 1) last[1] = value;
    else found.push([value, value]);
  }
  return found.flatMap(([first, last]): Range[] =>
    last - first === 1
      ? [
          [first, first],
          [last, last],
        ]
      : [[first, last]],
  );
}

const numbers = ([first, last]: Range): string =>
  first === last ? String(first) : `${first} to ${last}`;

const clock = (hour: number, minute: number): string =>
  `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;

const listed = (items: readonly string[]): string =>
  items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
