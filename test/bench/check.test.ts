import { describe, expect, it } from "vitest";
import { describeLosses, compareFigures } from "../../bench/lib/check.ts";

const ratio = (value: number) => ({ row: "2", what: "poll", value, better: "larger" as const });
const time = (value: number) => ({ row: "11", what: "delay", value, better: "smaller" as const });
const fallenBack = (...args: Parameters<typeof compareFigures>) =>
  compareFigures(...args).flatMap(({ figure, hasFallenBack }) => (hasFallenBack ? [figure] : []));

describe("judging the figures of a bench", () => {
  it.each([
    ["a larger ratio", ratio(0.5), ratio(0.7)],
    ["a ratio that is a tenth smaller", ratio(0.5), ratio(0.45)],
    ["a shorter time", time(4), time(2)],
    ["a time that is a tenth longer", time(4), time(4.4)],
  ])("accepts %s", (_, before, now) => {
    expect(fallenBack([before], [[now]])).toEqual([]);
  });

  it.each([
    ["a route that takes twice as long", ratio(0.5), ratio(0.25), "2 poll"],
    ["a delay that is twice as long", time(4), time(8), "11 delay"],
  ])("refuses %s", (_, before, now, figure) => {
    expect(fallenBack([before], [[now]])).toEqual([figure]);
  });

  it("takes the median of several runs, and their distance as the tolerance", () => {
    const before = [ratio(0.5)];
    expect(fallenBack(before, [[ratio(0.3)], [ratio(0.3)], [ratio(0.31)]])).toEqual(["2 poll"]);
    expect(fallenBack(before, [[ratio(0.3)], [ratio(0.5)], [ratio(0.4)]])).toEqual([]);
    expect(compareFigures(before, [[ratio(0.3)], [ratio(0.5)], [ratio(0.4)]])).toMatchObject([
      { measured: 0.4, tolerance: 0.5 },
    ]);
  });

  it("accepts a new figure, and refuses the loss of a recorded one", () => {
    expect(fallenBack([], [[ratio(0.1)]])).toEqual([]);
    expect(fallenBack([ratio(0.5), time(4)], [[ratio(0.5)]])).toEqual(["11 delay"]);
  });

  it("says what has fallen back, and by how much", () => {
    expect(describeLosses(compareFigures([ratio(0.5), time(4)], [[ratio(0.25)]]))).toEqual([
      '"2 poll" has fallen back from 0.5 to 0.250: 50 % worse; up to 15 % is noise.',
      '"11 delay" is recorded, but is no longer measured.',
    ]);
  });
});
