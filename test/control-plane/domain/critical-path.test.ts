import { describe, expect, test } from "vitest";
import { criticalPath } from "../../../control-plane/domain/critical-path.ts";

const span = (address: string, from: number, to: number, isDelete = false) => ({
  address,
  from,
  to,
  isDelete,
});
const addresses = ({ spans, isByNeeds }: ReturnType<typeof criticalPath>) => ({
  path: spans.map(({ address }) => address),
  isByNeeds,
});

describe("the critical path", () => {
  const needs = (edges: Record<string, string[]>) => (address: string, other: string) =>
    edges[address]?.includes(other) ?? false;

  test("follows what the last change needs, by the need that ended last", () => {
    const spans = [
      span("vpc", 0, 2000),
      span("key", 0, 500),
      span("bucket", 0, 9000),
      span("database", 2000, 8000),
      span("app", 12_000, 15_000),
      // Ends as the app begins, but the app does not need it.
      span("other", 9000, 12_000),
    ];
    const edges = { app: ["vpc", "key", "database"], database: ["vpc"] };
    expect(addresses(criticalPath(spans, needs(edges)))).toEqual({
      path: ["vpc", "database", "app"],
      isByNeeds: true,
    });
  });

  test("follows destructions backwards, and a replacement through both of its halves", () => {
    const spans = [
      span("app", 0, 2000, true),
      span("database", 2000, 5000, true),
      span("database", 5000, 9000),
      span("app", 9000, 10_000),
    ];
    expect(addresses(criticalPath(spans, needs({ app: ["database"] })))).toEqual({
      path: ["app", "database", "database", "app"],
      isByNeeds: true,
    });
  });

  test("leads from each change to the one that ended just before it, if needs say nothing", () => {
    const spans = [
      span("a", 0, 3000),
      span("long", 0, 9000),
      span("b", 3100, 9500),
      span("c", 9600, 10_000),
    ];
    for (const given of [undefined, needs({})])
      expect(addresses(criticalPath(spans, given))).toEqual({
        path: ["a", "b", "c"],
        isByNeeds: false,
      });
  });

  test("is empty where no change waited for another one", () => {
    expect(criticalPath([]).spans).toEqual([]);
    expect(criticalPath([span("a", 0, 900), span("b", 0, 1000)]).spans).toEqual([]);
  });
});
