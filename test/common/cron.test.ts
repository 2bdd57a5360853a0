import { expect, it } from "vitest";
import { cronText } from "../../common/cron.ts";

it.each([
  ["0 2 * * *", "Every day at 02:00"],
  ["30 6 * * 1-5", "Monday to Friday at 06:30"],
  ["0 6,18 * * sat,SUN", "On Saturdays and Sundays at 06:00 and 18:00"],
  ["0 6 * * 5-7", "Friday to Sunday at 06:00"],
  ["0 6 * * 0-6", "Every day at 06:00"],
  ["* * * * *", "Every minute"],
  ["*/15 * * * *", "Every 15 minutes"],
  ["*/15 9-17 * * 1-5", "Monday to Friday every 15 minutes of the hours 9 to 17"],
  ["*/10 9 * * *", "Every 10 minutes of the hour from 09:00"],
  ["0 * * * *", "Every hour, on the hour"],
  ["5,35 * * * *", "Every hour, at minutes 5 and 35"],
  ["0 */2 * * *", "Every 2 hours, on the hour"],
  ["0 */6 * * *", "Every day at 00:00, 06:00, 12:00 and 18:00"],
  ["0 8-18 * * 1", "On Mondays in the hours 8 to 18, on the hour"],
  ["7-9,20,40,41 8-18 * * *", "In the hours 8 to 18, at minutes 7 to 9, 20, 40 and 41"],
  ["0 0 1 * *", "On day 1 of the month at 00:00"],
  ["0 0 1-7,15 1,7 *", "On days 1 to 7 and 15 of the month at 00:00 in January and July"],
  ["0 3 13 * 5", "On day 13 of the month, and on Fridays, at 03:00"],
  ["0 3 */1 jan-mar tue,thu", "On Tuesdays and Thursdays at 03:00 in January to March"],
])("says when %s comes", (expression, text) => expect(cronText(expression)).toBe(text));

it("says nothing of what is no expression", () => {
  for (const expression of ["", "@daily", "0 25 * * *", "0 0 * *", "0 0 * * 1#2"])
    expect(cronText(expression)).toBeUndefined();
});
