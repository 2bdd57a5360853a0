import { describe, expect, it, test } from "vitest";
import { parseCron } from "../../../control-plane/domain/cron.ts";
import { RefusalError } from "../../../control-plane/domain/refusal.ts";

/** The next times after a moment, as UTC without seconds. */
function nextTimes(
  cron: string,
  timezone: string,
  after: string,
  count: number,
): (string | null)[] {
  const times = parseCron(cron, timezone);
  const found: (string | null)[] = [];
  for (let at: number | null = Date.parse(after); found.length < count && at !== null;) {
    at = times.nextAfter(at);
    found.push(at === null ? null : new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

/** Each with the comment that says what the clock of the zone shows. */
const cases: [what: string, cron: string, zone: string, after: string, expected: string[]][] = [
  [
    "a skipped time runs at the next valid minute: 02:30 on 29 March at 03:00",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T00:00Z",
    ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"],
  ],
  [
    "a time that occurs twice runs once, the first time: 02:30 on 25 October",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-10-24T00:00Z",
    ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"],
  ],
  [
    "several skipped times of one hour run once",
    "*/20 2 * * *",
    "Europe/Berlin",
    "2026-03-28T01:30Z",
    ["2026-03-28T01:40", "2026-03-29T01:00", "2026-03-30T00:00", "2026-03-30T00:20"],
  ],
  [
    "several times of an hour that occurs twice run once each",
    "*/20 2 * * *",
    "Europe/Berlin",
    "2026-10-24T12:00Z",
    ["2026-10-25T00:00", "2026-10-25T00:20", "2026-10-25T00:40", "2026-10-26T01:00"],
  ],
  [
    "a range of hours is fixed: each hour once, the skipped one at 03:00",
    "0 1-3 * * *",
    "Europe/Berlin",
    "2026-03-28T23:00Z",
    ["2026-03-29T00:00", "2026-03-29T01:00", "2026-03-29T23:00", "2026-03-30T00:00"],
  ],
  [
    "with any hour, the hour that occurs twice counts twice",
    "30 * * * *",
    "Europe/Berlin",
    "2026-10-24T23:40Z",
    ["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"],
  ],
  [
    "with any hour, the skipped hour is left out",
    "30 * * * *",
    "Europe/Berlin",
    "2026-03-28T23:40Z",
    ["2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T02:30"],
  ],
  [
    "with a step in the hour, 02:00 comes twice",
    "0 */2 * * *",
    "Europe/Berlin",
    "2026-10-24T21:40Z",
    ["2026-10-24T22:00", "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T03:00"],
  ],
  [
    "the other side of the ocean, in spring: 02:15 on 8 March at 03:00 EDT",
    "15 2 * * *",
    "America/New_York",
    "2026-03-07T00:00Z",
    ["2026-03-07T07:15", "2026-03-08T07:00", "2026-03-09T06:15"],
  ],
  [
    "the other side of the ocean, in autumn: 01:30 on 1 November once",
    "30 1 * * *",
    "America/New_York",
    "2026-10-31T00:00Z",
    ["2026-10-31T05:30", "2026-11-01T05:30", "2026-11-02T06:30"],
  ],
  [
    "every quarter of an hour goes on through both",
    "*/15 * * * *",
    "America/New_York",
    "2026-11-01T05:40Z",
    ["2026-11-01T05:45", "2026-11-01T06:00", "2026-11-01T06:15", "2026-11-01T06:30"],
  ],
  [
    "half an hour is skipped: 02:15 on 4 October at 02:30",
    "15 2 * * *",
    "Australia/Lord_Howe",
    "2026-10-02T16:00Z",
    ["2026-10-03T15:30", "2026-10-04T15:15"],
  ],
  [
    "half an hour occurs twice: 01:45 on 5 April once",
    "45 1 * * *",
    "Australia/Lord_Howe",
    "2026-04-03T15:00Z",
    ["2026-04-04T14:45", "2026-04-05T15:15"],
  ],
  [
    "half an hour occurs twice: 01:45 of every hour twice",
    "45 * * * *",
    "Australia/Lord_Howe",
    "2026-04-04T14:00Z",
    ["2026-04-04T14:45", "2026-04-04T15:15", "2026-04-04T16:15"],
  ],
  [
    "a whole day is skipped: 30 December runs when the 31st begins",
    "0 6 * * *",
    "Pacific/Apia",
    "2011-12-28T17:00Z",
    ["2011-12-29T16:00", "2011-12-30T10:00", "2011-12-30T16:00"],
  ],
  [
    "midnight is skipped: 29 March begins at 01:00",
    "0 0 * * *",
    "Asia/Beirut",
    "2026-03-27T23:00Z",
    ["2026-03-28T22:00", "2026-03-29T21:00"],
  ],
  [
    "Monday to Friday",
    "0 6 * * 1-5",
    "Europe/Berlin",
    "2026-11-27T12:00Z",
    ["2026-11-30T05:00", "2026-12-01T05:00"],
  ],
  [
    "either day, if both fields are restricted: Fridays and the 13th",
    "0 6 13 * FRI",
    "UTC",
    "2026-12-05T00:00Z",
    ["2026-12-11T06:00", "2026-12-13T06:00", "2026-12-18T06:00"],
  ],
  ["7 is Sunday", "0 6 * * 7", "UTC", "2026-11-28T12:00Z", ["2026-11-29T06:00"]],
  [
    "leap days, over a century without one",
    "0 12 29 2 *",
    "Europe/Berlin",
    "2096-03-01T00:00Z",
    ["2104-02-29T11:00", "2108-02-29T11:00"],
  ],
  [
    "leap days with a step in the hour",
    "0 */12 29 2 *",
    "America/New_York",
    "2096-03-01T00:00Z",
    ["2104-02-29T05:00", "2104-02-29T17:00"],
  ],
];

test.each(cases)("%s", (_what, cron, zone, after, expected) => {
  expect(nextTimes(cron, zone, after, expected.length)).toEqual(expected);
});

describe("a cron expression", () => {
  it.each([
    ["", "must have five fields"],
    ["0 6 * *", "must have five fields"],
    ["0 0 6 * * *", "must have five fields"],
    ["@daily", "must have five fields"],
    ["60 6 * * *", 'the minute "60" must be from 0 to 59'],
    ["0 24 * * *", 'the hour "24" must be from 0 to 23'],
    ["0 6 0 * *", 'the day of the month "0" must be from 1 to 31'],
    ["0 6 * 13 *", 'the month "13" must be from 1 to 12'],
    ["0 6 * * 8", 'the day of the week "8" must be from 0 to 7'],
    ["0 6 L * *", "L, W, # and ? are not supported"],
    ["0 6 15W * *", "are not supported"],
    ["0 6 * * 5#2", "are not supported"],
    ["0 6 ? * 1", "are not supported"],
    ["0 6 * * friday", "are not supported"],
    ["0 6-3 * * *", "has a range that ends before it begins"],
    ["*/0 6 * * *", "has a step that is not 1 or more"],
    ["5/10 6 * * *", "must be a list of"],
    ["1-2-3 6 * * *", "must be a list of"],
    ["1,,2 6 * * *", "are not supported"],
    ["0 0 30 2 *", "names a date that never comes"],
    ["0 0 31 4,6,9,11 *", "names a date that never comes"],
  ])("is refused: %s", (cron, message) => {
    expect(() => parseCron(cron, "UTC")).toThrow(RefusalError);
    expect(errorsOf(cron, "UTC")).toMatchObject([{ path: "body.cron" }]);
    expect(JSON.stringify(errorsOf(cron, "UTC"))).toContain(JSON.stringify(message).slice(1, -1));
  });

  it("that names 30 February or Mondays comes on Mondays", () => {
    expect(nextTimes("0 0 30 2 1", "UTC", "2026-01-01T00:00Z", 2)).toEqual([
      "2026-02-02T00:00",
      "2026-02-09T00:00",
    ]);
  });

  it.each(["Europe/Nowhere", "+01:00", "", "Europe/Berlin\u0000"])(
    "in no zone of the IANA database is refused: %j",
    (timezone) => {
      expect(errorsOf("0 6 * * *", timezone)).toMatchObject([{ path: "body.timezone" }]);
    },
  );

  it("costs little, however far its next time is", () => {
    const times = ["0 0 29 2 *", "59 23 29 2 *", "0 */23 29 2 *", "* * * * *"].map((cron) =>
      parseCron(cron, "America/New_York"),
    );
    let calls = 0;
    const original = Intl.DateTimeFormat.prototype.formatToParts;
    Intl.DateTimeFormat.prototype.formatToParts = function (this: Intl.DateTimeFormat, ...given) {
      calls += 1;
      return original.apply(this, given);
    };
    try {
      for (const one of times) one.nextAfter(Date.parse("2096-03-01T00:00Z"));
    } finally {
      Intl.DateTimeFormat.prototype.formatToParts = original;
    }
    expect(calls).toBeLessThan(100);
  });
});

function errorsOf(cron: string, timezone: string): unknown {
  try {
    parseCron(cron, timezone);
    return undefined;
  } catch (error) {
    if (error instanceof RefusalError) return error.more.errors;
    throw error;
  }
}
