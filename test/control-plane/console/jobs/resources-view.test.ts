import { expect, test } from "vitest";
import { resourcesView } from "../../../../control-plane/console/jobs/resources-view.ts";
import type { ResourceChange } from "../../../../control-plane/services/jobs/resources.ts";
import { emptySummary } from "../../../helpers/plan-summaries.ts";

test("the changes of an apply and of its plan are read once for its page", () => {
  let reads = 0;
  const counted = <T>(items: readonly T[]): T[] => {
    const iterate = () => {
      reads += 1;
      return items.values();
    };
    return Object.assign([...items], {
      [Symbol.iterator]: iterate,
      flatMap: (map: (item: T) => unknown) => [...iterate()].flatMap(map),
    });
  };
  const addresses = Array.from({ length: 500 }, (_, index) => `a.b[${index}]`);
  const change = {
    action: "create",
    started_at: 1,
    ended_at: 2,
    isFailed: false,
    chunk: 1,
    lastChunk: 2,
  } as const;
  const list: ResourceChange[] = addresses.slice(0, 400).map((address) => ({ address, ...change }));
  const changes = addresses.map((address) => ({ address, action: "create" as const }));
  const counts = { ...emptySummary.counts, create: 500 };
  const plan = { ...emptySummary, counts, changes: counted(changes) };
  const job = { status: "FAILED", ended_at: "2026-01-01", outcome_unknown: false } as const;
  const view = resourcesView({ list: counted(list), until: 2 }, plan, job);
  expect(view?.text).toContain("400 of 500 done, 100 not reached");
  expect(reads).toBe(2);
});
