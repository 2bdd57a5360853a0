import { expect, it } from "vitest";
import type { LogResource } from "../../../../protocol/jobs.ts";
import { changesOf } from "../../../../control-plane/services/jobs/resources.ts";

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
      },
      {
        address: "b",
        action: "update",
        started_at: 11_000,
        ended_at: 15_000,
        isFailed: true,
        chunk: 5,
      },
      {
        address: "a",
        action: "create",
        started_at: 12_000,
        ended_at: null,
        isFailed: false,
        chunk: 4,
      },
      {
        address: "c",
        action: "create",
        started_at: 15_000,
        ended_at: null,
        isFailed: false,
        chunk: 6,
      },
    ],
    // 4 s after the last event, by the runner's clock.
    until: 20_000,
  });
  expect(changesOf(all, null).until).toBe(16_000);
});

it("survives clocks that go backwards, and no events", () => {
  const all = events(["a", "create", "started", 10], ["a", "create", "ended", 9]);
  expect(changesOf(all, 0)).toMatchObject({
    list: [{ started_at: 10_000, ended_at: 10_000 }],
    until: 10_000,
  });
  expect(changesOf([], 5)).toEqual({ list: [], until: 0 });
});
