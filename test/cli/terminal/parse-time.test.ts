import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parseComingTime, parseTime } from "../../../cli/terminal/parse-time.ts";

const now = Date.parse("2026-01-31T12:00:00Z");
beforeAll(() => void vi.stubEnv("TZ", "America/New_York"));
afterAll(() => void vi.unstubAllEnvs());

test.each([
  ["90m", "2026-01-31T10:30:00.000Z"],
  ["24h", "2026-01-30T12:00:00.000Z"],
  ["7d", "2026-01-24T12:00:00.000Z"],
  ["2026-01-31", "2026-01-31T05:00:00.000Z"],
  ["2026-01-31T12:00", "2026-01-31T17:00:00.000Z"],
  ["2026-01-31 12:00", "2026-01-31T17:00:00.000Z"],
  ["2026-01-31T12:00Z", "2026-01-31T12:00:00.000Z"],
  ["2026-01-31T12:00:00+09:00", "2026-01-31T03:00:00.000Z"],
])("%s is read in the local time zone, or as long ago", (text, expected) => {
  expect(parseTime("--since", text, now)).toBe(expected);
});

test.each([
  "yesterday",
  "24",
  "10",
  "1",
  "2026-02-31",
  "2026-02-30T10:00",
  "Jan 31 2026",
  "24 h",
  "999999999d",
  "2026-13-01",
  "",
])("%j is refused", (text) => {
  expect(() => parseTime("--since", text, now)).toThrow("--since must be a time such as 24h (ago)");
});

test("a time ahead is none, a time, or as far from now", () => {
  const read = (text: string) => parseComingTime("--ends", text, now);
  expect(read("none")).toBeNull();
  expect(read("36h")).toBe("2026-02-02T00:00:00.000Z");
  expect(read("2026-02-28")).toBe("2026-02-28T05:00:00.000Z");
  expect(() => read("tomorrow")).toThrow(
    '--ends must be none, or a time such as 7d (from now), 2026-01-31 or 2026-01-31T12:00Z, not "tomorrow"',
  );
});

test("without the option there is no bound", () => {
  expect(parseTime("--since", undefined)).toBeUndefined();
});
