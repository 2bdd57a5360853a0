import { expect, test } from "vitest";
import { resourcesView } from "../../../../control-plane/console/jobs/resources-view.ts";
import type { PlanSummary } from "../../../../protocol/plan-summary.ts";
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
    const bars = drawn.querySelectorAll("ol rect:not(.whole)").map(({ attributes }) => attributes);
    return {
      sign: drawn.querySelector("ol .sign")?.classList.value.at(-1),
      took: drawn.querySelector("ol .took")?.text,
      bars: bars.map(({ class: look, x, width }) => `${look} ${x} ${width}`),
    };
  };
  expect(view([change])).toEqual({
    sign: "replace",
    took: "from 0\u00a0s, waits",
    bars: ["delete 0% 40%", "replace running 40% 60%"],
  });
  expect(view([change], "2026-01-01")).toEqual({
    sign: "replace",
    took: "from 0\u00a0s, not finished",
    bars: ["delete 0% 40%"],
  });
  // What it waits for its turn is not counted.
  const create = { ...change, action: "create", started_at: 5000, ended_at: 10_000 } as const;
  expect(view([change, create])).toEqual({
    sign: "replace",
    took: "from 0\u00a0s, 9\u00a0s",
    bars: ["delete 0% 40%", "create 50% 50%"],
  });
});

test("an apply has an axis of time, its phases, and its critical path by what the plan says", () => {
  const change = (address: string, action: "delete" | "create", from: number, to: number) =>
    ({
      address,
      action,
      started_at: from,
      ended_at: to,
      isFailed: false,
      chunk: from,
      lastChunk: to,
    }) as const;
  const list = [
    change("old.a", "delete", 0, 1200),
    change("vpc.a", "create", 0, 2000),
    change('subnet.a["x"]', "create", 2000, 12_340),
  ];
  const job = { status: "SUCCESS", ended_at: "2026-01-01", outcome_unknown: false } as const;
  const draw = (more: Pick<PlanSummary, "graph"> = {}) =>
    dom(resourcesView({ list, until: 12_340 }, { ...emptySummary, ...more }, job)?.text ?? "");
  const view = draw({ graph: [{ address: "subnet.a", needs: ["vpc.a"] }] });
  const textsOf = (selector: string) =>
    view.querySelectorAll(selector).map(({ text }) => text.replaceAll(/\s+/g, " ").trim());
  expect(textsOf(".axis text")).toEqual(["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]);
  expect(textsOf(".phases li")).toEqual([
    "− destroy 1 from 0 s, 1.2 s",
    "+ create 2 from 0 s, 12.3 s",
  ]);
  expect(textsOf(".critical .name")).toEqual(["vpc.a", 'subnet.a["x"]']);
  expect(textsOf(".path")).toEqual(["critical path: 2 changes, 12.3 s"]);
  expect(view.querySelector(".path")?.getAttribute("title")).toContain("needs in the plan");
  expect(draw().querySelector(".path")?.getAttribute("title")).toContain("By time");
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
