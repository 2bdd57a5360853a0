import { expect, it } from "vitest";
import { stepsOf } from "../../../../control-plane/services/logs/progress.ts";

const second = (count: number) => new Date(count * 1000).toISOString();
/**
 * Events as a runner sends them: name, event, the runner's clock and the server's clock, in
 * seconds.
 */
const events = (...list: [string, "started" | "ended", number, number][]) =>
  list.map(([name, event, at, received], id) => ({
    id,
    step: { name, event, at: second(at) },
    created_at: received * 1000,
  }));

it("takes the start of a step from the server's clock and its duration from the runner's", () => {
  expect(
    stepsOf(
      events(["init", "started", 100, 5], ["init", "ended", 103, 9], ["plan", "started", 103, 9]),
    ),
  ).toEqual([
    { name: "init", chunk: 0, started_at: second(5), took_ms: 3000, ended_at: second(8) },
    { name: "plan", chunk: 2, started_at: second(9), took_ms: null, ended_at: null },
  ]);
});

it("ignores an end without a start, keeps a repeated start, and never returns a negative duration", () => {
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
    { name: "plan", chunk: 1, started_at: second(2), took_ms: null, ended_at: null },
    { name: "plan", chunk: 2, started_at: second(3), took_ms: 0, ended_at: second(3) },
  ]);
});

it("a step has ended when its end arrives, even if its start was late", () => {
  // An interruption delays both.
  expect(stepsOf(events(["apply", "started", 100, 50], ["apply", "ended", 130, 51]))).toMatchObject(
    [{ took_ms: 30_000, ended_at: second(51) }],
  );
});
