import { describe, expect, it, test } from "vitest";
import {
  approvalColumns,
  approvalReason,
  approvalRule,
  differs,
  isDestructive,
} from "../../../control-plane/domain/approvals.ts";
import { approvalWords } from "../../../protocol/words.ts";
import { emptySummary } from "../../helpers/plane/plan-summaries.ts";

test("an approval rule survives its columns, and has defaults", () => {
  const rule = { when: "always", count: 3, by_author: true } as const;
  expect(approvalRule(approvalColumns(rule))).toEqual(rule);
  expect(approvalRule(approvalColumns(null))).toBeNull();
  expect(approvalRule(approvalColumns({ when: "destructive" }))).toEqual({
    when: "destructive",
    count: 1,
    by_author: false,
  });
});

test("without a rule its other columns make no difference", () => {
  expect(differs(approvalColumns(null), { ...approvalColumns(null), approval_count: 5 })).toBe(
    false,
  );
  expect(
    differs(approvalColumns({ when: "always" }), approvalColumns({ when: "destructive" })),
  ).toBe(true);
});

describe("a plan", () => {
  const counts = (of: object) => ({ ...emptySummary, counts: { ...emptySummary.counts, ...of } });
  it.each([
    [
      "that creates, updates, moves, imports and forgets",
      counts({ create: 9, update: 9, move: 9, import: 9, forget: 9 }),
      false,
    ],
    ["that deletes", counts({ delete: 1 }), true],
    ["that replaces", counts({ replace: 1 }), true],
    ["with a truncated summary", { ...emptySummary, truncated: true }, true],
    ["with omitted changes", { ...emptySummary, changes_omitted: 1 }, true],
    ["without a summary", undefined, true],
  ])("%s is destructive or not", (_, summary, expected) => {
    expect(isDestructive(summary)).toBe(expected);
  });
});

describe("a job that waits for approvals", () => {
  const [ada, bob] = ["ada@example.com", "bob@example.com"];
  it.each([
    [1, [ada, ada], "waits for 1 approval by a deployer other than ada@example.com"],
    [
      2,
      [ada, bob],
      "waits for 2 approvals by deployers other than ada@example.com and bob@example.com",
    ],
    [1, [], "waits for 1 approval by a deployer"],
  ])("names how many are missing, and who may not: %i, %j", (missing, authors, expected) => {
    expect(approvalReason({ missing, authors, hasPlan: true })).toBe(expected);
  });

  it("without a plan says that it needs one", () => {
    expect(approvalReason({ missing: 1, authors: [ada], hasPlan: false })).toMatch(
      /no plan to approve\. Cancel it, and deploy a plan$/,
    );
  });
});

test("a rule is described in short", () => {
  expect(approvalWords(null)).toBe("none");
  expect(approvalWords({ when: "always", count: 1, by_author: true })).toBe(
    "always, 1 person, authors too",
  );
  expect(approvalWords({ when: "destructive", count: 2, by_author: false })).toBe(
    "destructive, 2 people",
  );
});
