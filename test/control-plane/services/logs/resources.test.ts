import { expect, it } from "vitest";
import type { LogResource } from "../../../../protocol/jobs.ts";
import { changesOf } from "../../../../control-plane/services/logs/resources.ts";

const second = (count: number) => new Date(count * 1000).toISOString();
/** Events as a runner sends them, in seconds of its clock; the server's is 1000 s ahead. */
const events = (...list: [string, LogResource["action"], LogResource["event"], number][]) =>
  list.map(([address, action, event, at], index) => ({
    id: index + 1,
    resource: { address, action, event, at: second(at) },
    created_at: (at + 1000) * 1000,
  }));

it("pairs starts with ends, also of a resource that is replaced, and links a failure to its message", () => {
  const all = events(
    ["a", "delete", "started", 10],
    ["b", "update", "started", 11],
    ["a", "delete", "ended", 12],
    ["a", "create", "started", 12],
    ["b", "update", "failed", 15],
    ["c", "create", "started", 15],
    ["x", "create", "ended", 16],
  );
  expect(changesOf(all, 1_020_000)).toEqual({
    list: [
      {
        address: "a",
        action: "delete",
        started_at: 10_000,
        ended_at: 12_000,
        isFailed: false,
        chunk: 1,
        lastChunk: 3,
      },
      {
        address: "b",
        action: "update",
        started_at: 11_000,
        ended_at: 15_000,
        isFailed: true,
        chunk: 5,
        lastChunk: null,
      },
      {
        address: "a",
        action: "create",
        started_at: 12_000,
        ended_at: null,
        isFailed: false,
        chunk: 4,
        lastChunk: null,
      },
      {
        address: "c",
        action: "create",
        started_at: 15_000,
        ended_at: null,
        isFailed: false,
        chunk: 6,
        lastChunk: null,
      },
    ],
    // 4 s after the last event, by the runner's clock.
    until: 20_000,
  });
  expect(changesOf(all, null).until).toBe(16_000);
  // What did not end lasted until the end of the job, if that is known.
  expect(changesOf(all, all.at(-1)!.created_at + 4000, true).until).toBe(20_000);
});

it("survives clocks that go backwards, and no events", () => {
  const all = events(["a", "create", "started", 10], ["a", "create", "ended", 9]);
  expect(changesOf(all, 0)).toMatchObject({
    list: [{ started_at: 10_000, ended_at: 10_000 }],
    until: 10_000,
  });
  expect(changesOf([], 5)).toEqual({ list: [], until: 0 });
});

/** Adds to an end how long terraform says that it took, in seconds. */
const elapsed = (all: ReturnType<typeof events>, seconds: (number | undefined)[]) =>
  all.map((event, index) => {
    const elapsed_seconds = seconds[index];
    return elapsed_seconds === undefined
      ? event
      : { ...event, resource: { ...event.resource, elapsed_seconds } };
  });

it("takes the duration from terraform if the runner was away at the start or the end", () => {
  const all = elapsed(
    events(
      ["a", "create", "started", 10],
      ["slow", "create", "started", 11],
      // The runner is back at 40.
      ["a", "create", "ended", 40],
      ["b", "create", "started", 40],
      ["b", "create", "ended", 40],
      ["c", "create", "started", 40],
      ["c", "create", "ended", 45],
    ),
    [undefined, undefined, 8, undefined, 30, undefined, 20],
  );
  const { list, until } = changesOf(all, 1_050_000);
  expect(list.map(({ address, started_at, ended_at }) => [address, started_at, ended_at])).toEqual([
    ["a", 10_000, 18_000],
    ["slow", 11_000, null],
    // It began after the end of a.
    ["b", 18_000, 40_000],
    ["c", 40_000, 45_000],
  ]);
  // What is under way is so until now.
  expect(until).toBe(50_000);
});

it("an apply has ended with its last resource, not when the runner came back", () => {
  const two = (...seconds: number[]) =>
    elapsed(
      events(
        ["a", "create", "started", 10],
        ["b", "create", "started", 10],
        ["a", "create", "ended", 40],
        ["b", "create", "ended", 40],
      ),
      [undefined, undefined, ...seconds],
    );
  expect(changesOf(two(8, 9), null).until).toBe(19_000);
  expect(changesOf(two(8, 9), 1_090_000, true).until).toBe(19_000);
  // Within what terraform rounds.
  expect(changesOf(two(29, 31), null).until).toBe(40_000);
});
