import { expect, test } from "vitest";
import { statesOf } from "../../../../control-plane/console/graphs/graph-progress.ts";
import { appliedOf } from "../../../../control-plane/services/logs/resources.ts";

test("a node is done with its last planned instance, and a module with its last resource", () => {
  const planned = ["module.m.a.b[0]", "module.m.a.b[1]", 'module.m.module.n["x"].a.c', "a.d"];
  const changes = planned.map((address) => ({ address, action: "create" as const }));
  const change = (address: string, ended_at: number | null, isFailed = false) =>
    ({
      address,
      action: "create",
      started_at: 0,
      ended_at,
      isFailed,
      chunk: 1,
      lastChunk: null,
    }) as const;
  const states = (...list: ReturnType<typeof change>[]) =>
    Object.fromEntries(statesOf(appliedOf(list, changes)));
  const first = change("module.m.a.b[0]", 1);
  expect(states(first)).toEqual({ "module.m": "running", "module.m.a.b": "running" });
  const second = change("module.m.a.b[1]", 2);
  const inner = change('module.m.module.n["x"].a.c', 3);
  expect(states(first, second, inner)).toEqual({
    "module.m": "done",
    "module.m.a.b": "done",
    "module.m.module.n": "done",
    "module.m.module.n.a.c": "done",
  });
  expect(states(first, change("module.m.a.b[1]", 2, true), inner)).toMatchObject({
    "module.m": "failed",
    "module.m.a.b": "failed",
    "module.m.module.n": "done",
  });
  // Not in the plan, as of a DEPLOY that plans by itself.
  expect(states(change("a.e", null))).toEqual({ "a.e": "running" });
});
