import { expect, test } from "vitest";
import { resourcesView } from "../../../../control-plane/console/jobs/resources-view.ts";
import type { ResourceChange } from "../../../../control-plane/services/logs/resources.ts";
import { dom } from "../../../helpers/console/forms.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";

test("a replacement of which only the first half is done is a replacement under way", () => {
  const change = {
    address: "a.b",
    action: "delete",
    started_at: 0,
    ended_at: 4000,
    isFailed: false,
    chunk: 1,
    lastChunk: 2,
  } as const;
  const plan = { ...emptySummary, changes: [{ address: "a.b", action: "replace" as const }] };
  const view = (list: ResourceChange[], ended_at: string | null = null) => {
    const job = { status: "PROCESSING", ended_at, outcome_unknown: false } as const;
    const drawn = dom(resourcesView({ list, until: 10_000 }, plan, job)?.text ?? "");
    const bars = drawn.querySelectorAll("rect:not(.whole)").map(({ attributes }) => attributes);
    return {
      sign: drawn.querySelector(".sign")?.classList.value.at(-1),
      took: drawn.querySelector(".took")?.text,
      bars: bars.map(({ class: look, x, width }) => `${look} ${x} ${width}`),
    };
  };
  expect(view([change])).toEqual({
    sign: "replace",
    took: "waits",
    bars: ["delete 0 400", "replace running 400 600"],
  });
  expect(view([change], "2026-01-01")).toEqual({
    sign: "replace",
    took: "not finished",
    bars: ["delete 0 400"],
  });
  // What it waits for its turn is not counted.
  const create = { ...change, action: "create", started_at: 5000, ended_at: 10_000 } as const;
  expect(view([change, create])).toEqual({
    sign: "replace",
    took: "9\u00a0s",
    bars: ["delete 0 400", "create 500 500"],
  });
});

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
