import { expect, it } from "vitest";
import { stepsOf } from "../../../../control-plane/services/jobs/progress.ts";

const second = (count: number) => new Date(count * 1000).toISOString();
/** What a runner sent: the name, the event, its own clock and the server's, in seconds. */
const events = (...list: [string, "started" | "ended", number, number][]) =>
  list.map(([name, event, at, heard]) => ({
    step: { name, event, at: second(at) },
    created_at: heard * 1000,
  }));

it("shows when the server heard of a step, and how long it took by the runner's clock", () => {
  expect(
    stepsOf(
      events(["init", "started", 100, 5], ["init", "ended", 103, 9], ["plan", "started", 103, 9]),
    ),
  ).toEqual([
    { name: "init", started_at: second(5), took_ms: 3000 },
    { name: "plan", started_at: second(9), took_ms: null },
  ]);
});

it("takes an end without its start, a second start and a clock that was set back", () => {
  expect(
    stepsOf(
      events(
        ["init", "ended", 1, 1],
        ["plan", "started", 2, 2],
        ["plan", "started", 3, 3],
        ["plan", "ended", 1, 4],
        ["plan", "ended", 9, 9],
      ),
    ),
  ).toEqual([
    { name: "plan", started_at: second(2), took_ms: null },
    { name: "plan", started_at: second(3), took_ms: 0 },
  ]);
});
