import { expect, test } from "vitest";
import { between } from "../../../../control-plane/console/page/words.ts";

test("a time below a second has tenths", () => {
  const took = (end: string): string =>
    between("2026-01-01T00:00:00Z", `2026-01-01T00:00:${end}Z`).replaceAll("\u00a0", " ");
  expect(["00.000", "00.400", "00.960", "12.400"].map(took)).toEqual([
    "0 s",
    "0.4 s",
    "1 s",
    "12 s",
  ]);
});
